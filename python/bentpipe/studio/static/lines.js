// Paints curves into a plot: bands from least to greatest, lines of means or values, and marks of what the frame cuts.
"use strict";
(() => {
  const studio = globalThis.studio;
  const BAND = 0.22; // Opacity.
  const APART = 60; // Pixels between two values of cut peaks.

  function paint(plot, curves) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const curve of curves) if (curve.points && !curve.isBehind) band(plot, curve);
    for (const curve of curves) if (curve.points) line(plot, curve);
    ctx.restore();
    cuts(plot, curves);
  }

  const colourOf = (curve) => studio.palette.colour(curve.colour);

  // Calls `draw` with left, right, and index of each column that is known.
  function each(plot, points, draw) {
    const { begins, values, end } = points;
    for (let index = 0; index < begins.length; index += 1) {
      if (Number.isNaN(values[index])) continue;
      const until = index + 1 < begins.length ? begins[index + 1] : end;
      draw(plot.valToPos(begins[index], "x", true), plot.valToPos(until, "x", true), index);
    }
  }

  function band(plot, curve) {
    const { least, greatest } = curve.points;
    if (curve.isAside) return;
    plot.ctx.fillStyle = colourOf(curve);
    plot.ctx.globalAlpha = BAND;
    each(plot, curve.points, (left, right, index) => {
      if (greatest[index] === least[index]) return;
      const [top, bottom] = [greatest[index], least[index]].map((value) => plot.valToPos(value, "y", true));
      plot.ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
    });
    plot.ctx.globalAlpha = 1;
  }

  function line(plot, curve) {
    const { ctx } = plot;
    const { values } = curve.points;
    const scale = devicePixelRatio;
    ctx.strokeStyle = colourOf(curve);
    ctx.lineWidth = (curve.isBehind || curve.isReference ? 1 : 1.4) * scale;
    ctx.setLineDash(curve.dash.map((length) => length * scale));
    ctx.lineJoin = "round";
    ctx.beginPath();
    let before = null;
    each(plot, curve.points, (left, right, index) => {
      const y = plot.valToPos(values[index], "y", true);
      if (before !== index - 1) ctx.moveTo(left, y);
      else ctx.lineTo(left, y);
      ctx.lineTo(right, y);
      before = index;
    });
    ctx.stroke();
    ctx.setLineDash([]);
  }

  // A peak above the frame is an arrow with its value.
  function cuts(plot, curves) {
    const { ctx, bbox } = plot;
    const most = plot.scales.y.max;
    const peaks = [];
    for (const curve of curves) {
      if (!curve.points || curve.isAside) continue;
      each(plot, curve.points, (left, right, index) => {
        const value = curve.points.greatest[index];
        if (value > most * (1 + 1e-9)) peaks.push({ curve, x: (left + right) / 2, value });
      });
    }
    const scale = devicePixelRatio;
    const told = [];
    peaks.sort((one, other) => other.value - one.value);
    ctx.save();
    ctx.font = `${10 * studio.letters * scale}px ${getComputedStyle(plot.root).fontFamily}`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    for (const { curve, x } of peaks) {
      ctx.fillStyle = colourOf(curve);
      ctx.beginPath();
      ctx.moveTo(x - 3 * scale, bbox.top + 5 * scale);
      ctx.lineTo(x + 3 * scale, bbox.top + 5 * scale);
      ctx.lineTo(x, bbox.top);
      ctx.fill();
    }
    // Values over curves and arrows, with an edge of the ground.
    ctx.strokeStyle = studio.palette.colour("surface");
    ctx.fillStyle = studio.palette.colour("soft");
    ctx.lineWidth = 3 * scale;
    ctx.lineJoin = "round";
    for (const { curve, x, value } of peaks) {
      const text = studio.curves.said(curve, value);
      if (told.some((place) => Math.abs(place - x) < APART * scale) || x + ctx.measureText(text).width + 8 * scale > bbox.left + bbox.width) continue;
      told.push(x);
      ctx.strokeText(text, x + 5 * scale, bbox.top);
      ctx.fillText(text, x + 5 * scale, bbox.top);
    }
    ctx.restore();
  }

  studio.lines = { paint };
})();
