// Paints losses: by column of the plot, one part above the other for each cause.
"use strict";
(() => {
  const studio = globalThis.studio;
  let stack = [];

  function stacked(curves) {
    const columns = new Map();
    for (const curve of curves) {
      if (!curve.points) continue;
      const { begins, values, width } = curve.points;
      begins.forEach((begin, index) => {
        if (!(values[index] > 0)) return;
        const time = begin + width / 2;
        const column = columns.get(time) || { time, total: 0, parts: [] };
        column.parts.push({ curve, base: column.total, count: values[index] });
        column.total += values[index];
        columns.set(time, column);
      });
    }
    return [...columns.values()].sort((one, other) => one.time - other.time);
  }

  function data(curves) {
    stack = stacked(curves);
    if (!stack.length) return [[studio.time.from, studio.time.to], [null, null]];
    return [stack.map((each) => each.time), stack.map((each) => each.total)];
  }

  function paint(plot) {
    const width = 3 * devicePixelRatio;
    plot.ctx.save();
    for (const { time, parts } of stack) {
      const x = plot.valToPos(time, "x", true);
      for (const { curve, base, count } of parts) {
        const top = plot.valToPos(base + count, "y", true);
        plot.ctx.fillStyle = studio.palette.colour(curve.colour);
        plot.ctx.fillRect(x - width / 2, top, width, Math.max(1, plot.valToPos(base, "y", true) - top));
      }
    }
    plot.ctx.restore();
  }

  function rows(curves) {
    const span = studio.time.to - studio.time.from;
    const cells = ({ time, parts }) => [studio.format.instant(time, span), ...curves.map((curve) => String(parts.find((part) => part.curve === curve)?.count || 0))];
    return [["time", ...curves.map((curve) => curve.label)], stack.map(cells)];
  }

  // The middles of columns with losses.
  const times = ({ begins, values, width }) => [...begins].filter((_, index) => values[index] > 0).map((begin) => begin + width / 2);

  studio.losses = { data, paint, rows, times, range: () => [0, Math.max(1, ...stack.map((each) => each.total))] };
})();
