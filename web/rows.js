// Tables of the core as columns, and series of one flow or link as curves.
"use strict";
(() => {
  const studio = globalThis.studio;

  // Text arrives as numbers of different texts.
  const column = (values) => (Array.isArray(values) ? values : values.rows.map((row) => values.texts[row]));
  const columns = (table) => Object.fromEntries(Object.entries(table).map(([name, values]) => [name, column(values)]));

  function rows(table) {
    const whole = Object.entries(columns(table));
    const count = whole.length ? whole[0][1].length : 0;
    return Array.from({ length: count }, (_, index) => Object.fromEntries(whole.map(([name, values]) => [name, values[index]])));
  }

  // The curve of each flow or link in a series; `end` gives the time up to which it is known.
  function curves(table, { name, entity, kind }, end) {
    const { texts, rows: numbers } = table[entity];
    const found = texts.map(() => []);
    numbers.forEach((number, index) => found[number].push(index));
    const made = (text, number) => {
      const pick = (column) => Float64Array.from(found[number], (index) => table[column][index] ?? NaN);
      return curve(kind, pick("time_s"), pick(name), end(text), table.least ? [pick("least"), pick("greatest")] : null);
    };
    return new Map(texts.map((text, number) => [text, made(text, number)]));
  }

  // Periods with a value and its extremes, as Python's `Curve.from_rows` makes them.
  function curve(kind, times, values, end, extremes = null) {
    const latest = Math.max(end, times.at(-1) ?? 0);
    // A rate is that of the time before its row; a row with extremes has those of the time before it, too.
    if (kind === "rate") return periods(joined([0], times).subarray(0, times.length), values, [values, values], times.at(-1) ?? 0);
    if (!extremes) return periods(times, values, [values, values], latest);
    const last = values.at(-1) ?? 0;
    const both = extremes.map((each) => joined(each, [last]));
    return periods(joined([0], times), joined([0], values), both, latest);
  }

  const periods = (begins, values, [least, greatest], end) => ({ begins, values, least, greatest, width: 0, end });

  function joined(one, other) {
    const whole = new Float64Array(one.length + other.length);
    whole.set(one);
    whole.set(other, one.length);
    return whole;
  }

  // The largest or least value of some curves at each instant of a span: `choose` is `Math.max` or `Math.min`.
  function along(curves, choose, from, to) {
    const inside = (time) => time > from && time < to;
    const edges = to > from ? [...new Set([from, ...curves.flatMap((curve) => [...curve.begins, curve.end].filter(inside))])].sort((one, other) => one - other) : [];
    const found = { begins: [], values: [], least: [], greatest: [], end: to };
    const places = curves.map(() => -1);
    for (const edge of edges) {
      const chosen = [choose(), choose(), choose()];
      curves.forEach((curve, number) => {
        while (places[number] + 1 < curve.begins.length && curve.begins[places[number] + 1] <= edge) places[number] += 1;
        const place = places[number];
        if (place < 0 || edge >= curve.end) return;
        ["values", "least", "greatest"].forEach((name, at) => (chosen[at] = choose(chosen[at], curve[name][place])));
      });
      found.begins.push(edge);
      ["values", "least", "greatest"].forEach((name, at) => found[name].push(Number.isFinite(chosen[at]) ? chosen[at] : NaN));
    }
    return found;
  }

  // Curves of spans, one after the other.
  function chain(parts) {
    const there = parts.filter((part) => part.begins.length);
    const whole = (name) => Float64Array.from(there.flatMap((part) => part[name]));
    return periods(whole("begins"), whole("values"), [whole("least"), whole("greatest")], there.at(-1)?.end ?? 0);
  }

  // Events of equal weight.
  function events(times, end) {
    return curve("count", times, new Float64Array(times.length).fill(1), end);
  }

  studio.rows = { along, chain, columns, curve, curves, events, rows };
})();
