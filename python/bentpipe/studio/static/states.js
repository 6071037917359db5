// Paints the states of congestion controls: a lane for each flow below its window, a colour for each state.
"use strict";
(() => {
  const studio = globalThis.studio;
  const COLOURS = {
    startup: "blue", "slow-start": "blue", "conservative-slow-start": "sky",
    "probe-bw-up": "vermilion", "probe-bw-refill": "orange", "probe-bw-cruise": "green", "probe-bw-down": "sky", drain: "sky", "probe-rtt": "purple",
    default: "green", competitive: "vermilion", fast: "green", slow: "sky", avoidance: "soft",
  };
  const OTHERS = ["blue", "vermilion", "green", "purple", "orange", "sky"];
  const GAP = 2; // Pixels between two lanes.
  const LETTER = 11; // Pixels of a lane that has room for letters.
  const PADDING = 4; // Pixels beside the name of a state.
  let lanes = [];

  const nameOf = (curve, value) => curve.names?.[value] ?? String(value);
  const colourOf = (curve, value) => COLOURS[nameOf(curve, value)] || OTHERS[value % OTHERS.length];

  // Columns in a row with one state are one piece.
  function pieces({ begins, values, end }) {
    const found = [];
    begins.forEach((begin, index) => {
      const until = index + 1 < begins.length ? begins[index + 1] : end;
      const last = found[found.length - 1];
      if (Number.isNaN(values[index])) return;
      if (last && last.value === values[index] && last.until === begin) last.until = until;
      else found.push({ begin, until, value: values[index] });
    });
    return found;
  }

  function data(curves) {
    lanes = curves.filter((curve) => curve.points).map((curve) => ({ curve, pieces: pieces(curve.points) }));
    return [[studio.time.from, studio.time.to], [null, null]];
  }

  function paint(plot) {
    const { ctx, bbox } = plot;
    const scale = devicePixelRatio;
    const height = bbox.height / Math.max(1, lanes.length);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${10 * studio.letters * scale}px ${getComputedStyle(plot.root).fontFamily}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    lanes.forEach((lane, row) => {
      const top = bbox.top + row * height + (GAP * scale) / 2;
      for (const { begin, until, value } of lane.pieces) {
        const [left, right] = [begin, until].map((t) => Math.min(Math.max(plot.valToPos(t, "x", true), bbox.left), bbox.left + bbox.width));
        if (!(right > left)) continue;
        ctx.globalAlpha = 0.45;
        ctx.fillStyle = studio.palette.colour(colourOf(lane.curve, value));
        ctx.fillRect(left, top, Math.max(1, right - left), height - GAP * scale);
        ctx.globalAlpha = 1;
        // A short name, such as "cruise", if the whole one has no room.
        const room = right - left - 2 * PADDING * scale;
        const name = [nameOf(lane.curve, value)].flatMap((each) => [each, each.replace(/^probe-(bw-)?/, "")]).find((each) => ctx.measureText(each).width <= room);
        if (!name || height < LETTER * studio.letters * scale) continue;
        ctx.fillStyle = studio.palette.colour("ink");
        ctx.fillText(name, left + PADDING * scale, top + (height - GAP * scale) / 2);
      }
    });
    ctx.restore();
  }

  function rows(curves) {
    const span = studio.time.to - studio.time.from;
    const all = lanes.flatMap(({ curve, pieces }) => pieces.map(({ begin, value }) => [begin, curve, value]));
    const cells = ([begin, curve, value]) => [studio.format.instant(begin, span), ...curves.map((each) => (each === curve ? nameOf(curve, value) : ""))];
    return [["time", ...curves.map((curve) => curve.label)], all.sort((one, other) => one[0] - other[0]).map(cells)];
  }

  const said = () => lanes.map(({ curve, pieces }) => `${curve.label}: ${[...new Set(pieces.map(({ value }) => nameOf(curve, value)))].join(", ")}`).join("; ");

  studio.states = { isNamed: true, data, paint, rows, said, range: () => [0, 1] };
})();
