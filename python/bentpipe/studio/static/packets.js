// Paints the time-sequence diagram of the chosen flow: segments, ACKs, SACKs, losses by cause, retransmissions.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const TRIPS = 2; // Visible round trips below which packets are drawn.
  const ROWS = 200; // Of the table.
  const KINDS = {
    sent: ["segment", "ink"],
    retransmitted: ["retransmission", "purple"],
    acked: ["ACK", "green"],
    sacked: ["SACK", "sky"],
    lost: ["lost", "vermilion"],
  };
  let found = null;
  let note = "";
  let colours = {}; // Of causes of loss, as in the plot of losses.

  function isOn(meta) {
    const { flow, from, to } = studio.time;
    const rtt_s = meta.rtt_s[flow];
    return Boolean(rtt_s) && to - from < TRIPS * rtt_s && studio.source.hasPackets(meta, { flow, from, to });
  }

  // Zooms to where single packets can be told apart, at the handle.
  function zoom(meta) {
    const { flow, t } = studio.time;
    const span = meta.rtt_s[flow] ? studio.source.spanAt(meta, { flow, t, length: 0.95 * TRIPS * meta.rtt_s[flow] }) : null;
    if (span) studio.time.set({ from: span[0], to: span[1], t: Math.min(Math.max(t, span[0]), span[1]) });
  }

  async function load(meta) {
    if (!isOn(meta)) return;
    const { run, flow, from, to } = studio.time;
    const causes = meta.series.filter((each) => each.kind === "count").map((each) => studio.curves.cause(each.name));
    colours = Object.fromEntries(causes.map(({ label, colour }) => [label, colour]));
    note = "reading the packets of this span …";
    try {
      const rows = await studio.source.packets(run, { flow, from, to });
      const seen = Object.keys(KINDS).map((kind) => [kind, (rows[kind] || []).filter(([t]) => t >= from && t <= to)]);
      [found, note] = [{ ...rows, ...Object.fromEntries(seen) }, ""];
    } catch (error) {
      [found, note] = [null, String(error.message || error)];
    }
  }

  function range() {
    let [least, most] = [Infinity, -Infinity];
    for (const kind of ["sent", "retransmitted", "lost"]) {
      for (const [, first, end] of found?.[kind] || []) [least, most] = [Math.min(least, first), Math.max(most, end)];
    }
    for (const [, offset] of found?.acked || []) [least, most] = [Math.min(least, offset), Math.max(most, offset)];
    return most > least ? [least, most] : [0, 1];
  }

  const data = () => [[studio.time.from, studio.time.to], range()];

  function paint(plot) {
    if (!found) return;
    const { ctx, bbox } = plot;
    const at = (t) => plot.valToPos(t, "x", true);
    const up = (offset) => plot.valToPos(offset, "y", true);
    const bar = (kind, width) => {
      ctx.fillStyle = studio.palette.colour(KINDS[kind][1]);
      for (const [t, first, end] of found[kind] || []) ctx.fillRect(at(t) - width / 2, up(end), width, Math.max(1.5, up(first) - up(end) - 0.5));
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    bar("sacked", devicePixelRatio);
    bar("sent", 2 * devicePixelRatio);
    bar("retransmitted", 3 * devicePixelRatio);
    acks(ctx, at, up);
    crosses(ctx, at, up);
    ctx.restore();
  }

  // ACKs are a staircase; a duplicate is a tick below it.
  function acks(ctx, at, up) {
    ctx.strokeStyle = ctx.fillStyle = studio.palette.colour(KINDS.acked[1]);
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    found.acked.forEach(([t, offset], index) => {
      if (index) ctx.lineTo(at(t), up(found.acked[index - 1][1]));
      ctx[index ? "lineTo" : "moveTo"](at(t), up(offset));
    });
    ctx.stroke();
    for (const [t, offset, isAgain] of found.acked) if (isAgain) ctx.fillRect(at(t), up(offset), devicePixelRatio, 5 * devicePixelRatio);
  }

  const causeOf = (cause) => cause.replaceAll("-", " ");
  const colourOf = (cause) => colours[causeOf(cause)] || KINDS.lost[1];

  function crosses(ctx, at, up) {
    const size = 4 * devicePixelRatio;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (const [t, first, end, cause] of found.lost) {
      const [x, y] = [at(t), up((first + end) / 2)];
      ctx.strokeStyle = studio.palette.colour(colourOf(cause));
      ctx.beginPath();
      ctx.moveTo(x - size, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.moveTo(x - size, y + size);
      ctx.lineTo(x + size, y - size);
      ctx.stroke();
    }
  }

  function chip(word, colour, count) {
    const key = element("span", { class: "studio-key" });
    key.style.setProperty("--key", `var(--studio-${colour})`);
    return element("span", { class: "studio-chip" }, key, word, element("b", {}, String(count)));
  }

  function legend() {
    const about = element("span", { class: "studio-note" }, note);
    if (!found) return [about];
    const kinds = Object.entries(KINDS).filter(([kind]) => kind !== "lost" && found[kind].length);
    const causes = [...new Set(found.lost.map(([, , , cause]) => cause))];
    const chips = [
      ...kinds.map(([kind, [word, colour]]) => chip(word, colour, found[kind].length)),
      ...causes.map((cause) => chip(`lost: ${causeOf(cause)}`, colourOf(cause), found.lost.filter((each) => each[3] === cause).length)),
    ];
    return [...chips, found.is_whole ? about : element("span", { class: "studio-note" }, "too many to draw all: zoom in")];
  }

  function rows() {
    const span = studio.time.to - studio.time.from;
    const all = Object.keys(KINDS).flatMap((kind) => (found?.[kind] || []).map(([t, first, end, cause]) => [t, KINDS[kind][0] + (kind === "lost" ? `: ${cause}` : ""), first, kind === "acked" ? null : end]));
    all.sort((one, other) => one[0] - other[0]);
    return [["time", "what", "first byte", "end"], all.slice(0, ROWS).map(([t, what, first, end]) => [studio.format.instant(t, span), what, String(first), end === null ? "" : String(end)])];
  }

  const said = () => (found ? Object.entries(KINDS).map(([kind, [word]]) => `${word} ${found[kind].length}`).join("; ") : note);
  const report = () => (found ? Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, found[kind].length || 0])) : {});
  studio.packets = { unit: "B", isOn, zoom, load, data, range, paint, legend, said, rows, report };
})();
