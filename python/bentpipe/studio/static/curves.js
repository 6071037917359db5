// Curves: what one of them is called, its columns in the visible part, and the value that is drawn at a moment.
"use strict";
(() => {
  const studio = globalThis.studio;
  const STEPS = [1, 2, 5]; // Widths of columns are these, times powers of ten, as in Python's `choose_width`.

  // `described` is an entry of the run's list of series. `behind` has the same curve of the pinned run.
  function make(described, of, look = {}) {
    return { ...described, entity: described.of, of, label: of, points: null, dash: [], behind: [], ...look };
  }

  function choose(span, columns) {
    const wanted = span / Math.max(1, columns);
    const power = Math.floor(Math.log10(wanted));
    for (const each of [power, power + 1]) for (const step of STEPS) if (step * 10 ** each >= wanted * (1 - 1e-9)) return Number(`${step}e${each}`);
    return wanted;
  }

  // The columns of a part of a curve, as Python's `Curve.cut` makes them: rows if they fit, else means with extremes.
  function cut(points, kind, from, to, columns) {
    const { begins, values, width, end } = points;
    const ends = (index) => (index + 1 < begins.length ? begins[index + 1] : end);
    let first = studio.lower(begins, from);
    if (first > 0 && (begins[first] !== from || kind === "rate")) first -= 1;
    while (first < begins.length && ends(first) <= from) first += 1;
    let last = studio.lower(begins, to);
    if (kind !== "rate" && begins[last] === to) last += 1;
    const wanted = choose(to - from, columns);
    const isRows = width === 0 && kind !== "count";
    let known = 0;
    for (let index = first; index < last; index += 1) known += Number(!Number.isNaN(values[index]));
    if ((isRows && known <= columns) || wanted <= width * (1 + 1e-9)) {
      const part = { ...points, end: isRows ? Math.min(to, end) : last < begins.length ? begins[last] : end };
      for (const name of ["begins", "values", "least", "greatest"]) part[name] = points[name].slice(first, last);
      if (isRows && part.begins.length) part.begins[0] = Math.max(part.begins[0], from);
      return part;
    }
    const start = Math.floor(from / wanted + 1e-9);
    const count = Math.ceil(to / wanted - 1e-9) - start;
    const made = { begins: new Float64Array(count), width: wanted, end: (start + count) * wanted };
    for (const name of ["values", "least", "greatest"]) made[name] = new Float32Array(count).fill(NaN);
    const little = 1e-9 * wanted;
    for (let index = 0; index < begins.length; index += 1) {
      if (Number.isNaN(values[index])) continue;
      // An event is an instant.
      const begin = begins[index];
      const until = Math.max(kind === "count" && width === 0 ? begin : ends(index), begin + 4 * little);
      const left = Math.max(0, Math.floor((begin + little) / wanted) - start);
      const right = Math.min(count - 1, Math.ceil((until - little) / wanted) - 1 - start);
      for (let column = left; column <= right; column += 1) add(made, column, points, index, [begin, until], (start + column) * wanted, kind);
    }
    for (let column = 0; column < count; column += 1) finish(made, column, start, kind);
    return made;
  }

  function add(made, column, points, index, [begin, until], from, kind) {
    made.areas = made.areas || new Float64Array(made.begins.length);
    made.known = made.known || new Float64Array(made.begins.length);
    const length = kind === "count" ? 1 : Math.min(until, from + made.width) - Math.max(begin, from);
    made.areas[column] += points.values[index] * length;
    made.known[column] += length;
    if (kind === "state") hold(made, column, points.values[index], length);
    if (!(made.least[column] <= points.least[index])) made.least[column] = points.least[index];
    if (!(made.greatest[column] >= points.greatest[index])) made.greatest[column] = points.greatest[index];
  }

  // How long each state held in a column: a mean of names has no meaning.
  function hold(made, column, value, length) {
    made.holds = made.holds || Array.from(made.begins, () => new Map());
    const held = made.holds[column];
    held.set(value, (held.get(value) || 0) + length);
  }

  function finish(made, column, start, kind) {
    made.begins[column] = (start + column) * made.width;
    const known = made.known ? made.known[column] : 0;
    if (kind === "count") made.values[column] = made.least[column] = made.greatest[column] = made.areas ? made.areas[column] : 0;
    else if (kind === "state") {
      const longest = [...(made.holds?.[column] || [])].reduce((most, each) => (each[1] > most[1] || (each[1] === most[1] && each[0] < most[0]) ? each : most), [NaN, 0]);
      made.values[column] = made.least[column] = made.greatest[column] = longest[0];
    } else if (known > 0) made.values[column] = Math.min(Math.max(made.areas[column] / known, made.least[column]), made.greatest[column]);
  }

  // The value that is drawn at a moment; `null` where nothing is known. At a row, a rate is still that of the period before.
  function value(curve, t) {
    const points = curve.points;
    if (!points || !points.begins.length || t > points.end) return null;
    let index = studio.lower(points.begins, t);
    if (curve.kind === "rate" && points.width === 0) index -= 1;
    else {
      while (index < points.begins.length && points.begins[index] <= t) index += 1;
      index -= 1;
    }
    return index >= 0 && !Number.isNaN(points.values[index]) ? points.values[index] : null;
  }

  // A value in words: the name of a number, or the quantity with its unit.
  function said(curve, value) {
    return curve.names?.[value] ?? studio.format.quantity(value, curve.unit);
  }

  // Least and greatest that is drawn.
  function extent(curves) {
    let [least, most] = [Infinity, -Infinity];
    for (const { points } of curves) {
      if (!points) continue;
      for (let index = 0; index < points.begins.length; index += 1) {
        if (points.least[index] < least) least = points.least[index];
        if (points.greatest[index] > most) most = points.greatest[index];
      }
    }
    return [least, most];
  }

  // Colours of causes do not depend on which of them a run has.
  function cause(name) {
    const which = name.split(":")[1];
    return { label: which.replaceAll("-", " "), colour: studio.palette.CAUSES[which] || "soft" };
  }

  studio.curves = { cause, choose, cut, extent, make, said, value };
})();
