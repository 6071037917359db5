// Curves: what one of them is called, its points in the visible part, and its value at a moment.
"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});

  // `described` is an entry of the run's list of series. `behind` has the same curve of the pinned run.
  function make(described, of, look = {}) {
    return { ...described, entity: described.of, of, label: of, points: null, dash: [], behind: [], ...look };
  }

  // A level holds until its next row; a rate is the one of the interval that ends at its row.
  function value(curve, t) {
    const points = curve.points;
    if (!points || !points.times.length) return null;
    const { times, values } = points;
    const index = studio.lower(times, t);
    if (curve.style === "rate") return index < times.length ? values[index] : null;
    if (index < times.length && times[index] === t) {
      let last = index;
      while (last + 1 < times.length && times[last + 1] === t) last += 1;
      return values[last];
    }
    return index > 0 ? values[index - 1] : null;
  }

  // A value in words: the name of a number, or the quantity with its unit.
  function said(curve, value) {
    return curve.names?.[value] ?? studio.format.quantity(value, curve.unit);
  }

  // Points for drawing: the last level goes on to the end of the visible part.
  function drawn(curve, to) {
    const { times, values } = curve.points;
    const last = times.length - 1;
    if (curve.style === "rate" || last < 0 || times[last] >= to) return [times, values];
    const longer = { times: new Float64Array(last + 2), values: new Float32Array(last + 2) };
    longer.times.set(times);
    longer.values.set(values);
    longer.times[last + 1] = to;
    longer.values[last + 1] = values[last];
    return [longer.times, longer.values];
  }

  // Words and colour of a cause of loss, whose series is `losses:CAUSE`; the same in plots and strip.
  function cause(name, index) {
    return { label: name.split(":")[1].replaceAll("-", " "), colour: studio.palette.CAUSES[index % studio.palette.CAUSES.length] };
  }

  studio.curves = { cause, make, said, value, drawn };
})();
