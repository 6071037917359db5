// The strip: play, clock, and the handle over the marks of handovers, losses by cause, and timeouts.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element, palette } = studio;
  const COLUMNS = 600; // Of the losses.
  const LANES = { outage: 0.5, handover: 0.5, change: 0.5, loss: 0.72, timeout: 0.28 };
  const PATH = ["handover", "outage", "change"];
  let parts = null;
  let meta = null;
  let shown = null; // The run of `meta`.
  let marks = [];
  let losses = []; // By cause: its words, its colour and the times of columns with losses.

  function mount(place) {
    const play = element("button", { type: "button", class: "studio-play", "aria-label": "Play", "aria-keyshortcuts": "Space", onclick: toggle }, "▶");
    const clock = element("output", { class: "studio-clock" });
    const canvas = element("canvas", { "aria-hidden": "true" });
    const zoom = element("div", { class: "studio-zoom" });
    const handle = element("div", { class: "studio-handle", role: "slider", tabindex: "0", "aria-label": "Moment of the run", "aria-keyshortcuts": "n l", "aria-valuemin": "0" });
    const track = element("div", { class: "studio-track" }, canvas, zoom, handle);
    const legend = element("ul", { class: "studio-legend", "aria-label": "Marks" });
    parts = { play, clock, canvas, zoom, handle, track, legend };
    place.classList.add("studio-strip");
    const help = element("button", { type: "button", class: "studio-help", "aria-label": "Keys", "aria-keyshortcuts": "?", title: "Keys (?)", onclick: () => studio.keys.show() }, "?");
    place.replaceChildren(play, clock, track, legend, help);
    if (studio.time.stays()) Object.assign(play, { disabled: true, title: "Your system asks for less motion. The arrow keys move the handle." });
    drag(track);
    handle.addEventListener("keydown", arrows);
    document.addEventListener("keydown", keys);
    new ResizeObserver(paint).observe(track);
    palette.onRepaint(paint);
    studio.time.on(follow);
    if (studio.time.run) studio.pending(open());
  }

  function follow(_, names) {
    if (names.has("run")) studio.pending(open());
    if (names.has("flow")) choose();
    place();
  }

  async function open() {
    const run = studio.time.run;
    const found = run ? await studio.source.meta(run) : null;
    if (run !== studio.time.run) return;
    [meta, shown] = [found, run];
    choose();
    place();
  }

  function choose() {
    losses = [];
    if (meta && meta.series.length && shown === studio.time.run) studio.pending(count());
    marks = meta ? meta.happenings.filter((each) => each.kind in LANES && (!each.flow || !studio.time.flow || each.flow === studio.time.flow)) : [];
    explain();
    paint();
  }

  async function count() {
    const { run, flow, duration } = studio.time;
    const causes = meta.series.filter((each) => each.kind === "count");
    const found = await Promise.all(causes.map((each) => studio.source.series(run, { name: each.name, of: flow, from: 0, to: Math.min(duration, meta.duration_s), columns: COLUMNS })));
    if (run !== studio.time.run || flow !== studio.time.flow) return;
    losses = causes.map((each, index) => ({ ...studio.curves.cause(each.name), times: studio.losses.times(found[index]) })).filter((each) => each.times.length);
    explain();
    paint();
  }

  const colourOf = (kind) => (kind === "timeout" ? "purple" : kind);

  function explain() {
    const words = { handover: "handover", outage: "outage", change: "change of the path", timeout: "timeout" };
    const kinds = Object.keys(words).filter((kind) => marks.some((mark) => mark.kind === kind));
    const entries = [...kinds.map((kind) => ({ label: words[kind], colour: colourOf(kind) })), ...losses.map(({ label, colour }) => ({ label: `lost: ${label}`, colour }))];
    parts.legend.replaceChildren(
      ...entries.map(({ label, colour }) => {
        const key = element("span", { class: "studio-key" });
        key.style.setProperty("--key", `var(--studio-${colour})`);
        return element("li", {}, key, label);
      }),
    );
  }

  function paint() {
    if (!parts) return;
    const { canvas, track } = parts;
    const [width, height] = [track.clientWidth, track.clientHeight];
    [canvas.width, canvas.height] = [width * devicePixelRatio, height * devicePixelRatio];
    const ctx = canvas.getContext("2d");
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.fillStyle = palette.colour("grid");
    ctx.fillRect(0, height / 2, width, 1);
    losses.forEach(({ colour, times }, index) => {
      // Below the line, one lane for each cause.
      const tall = Math.max(3, (height * 0.44) / losses.length);
      ctx.fillStyle = palette.colour(colour);
      for (const time of times) ctx.fillRect((time / studio.time.duration) * width, height * 0.54 + index * tall, 2, tall - 1);
    });
    for (const mark of marks) {
      if (mark.kind === "loss") continue;
      const x = (mark.time_s / studio.time.duration) * width;
      const long = ((mark.numbers.duration_s || 0) / studio.time.duration) * width;
      const isPath = PATH.includes(mark.kind);
      const tall = isPath ? height * (mark.kind === "change" ? 0.5 : 0.8) : height * 0.22;
      ctx.fillStyle = palette.colour(colourOf(mark.kind));
      ctx.fillRect(x, height * LANES[mark.kind] - tall / 2, Math.max(long, isPath && mark.kind !== "change" ? 3 : 1.5), tall);
    }
    place();
  }

  function place() {
    if (!parts) return;
    const { t, from, to, duration, playing } = studio.time;
    const share = (value) => `${(100 * value) / duration}%`;
    parts.handle.style.left = share(t);
    parts.handle.setAttribute("aria-valuemax", String(duration));
    parts.handle.setAttribute("aria-valuenow", String(Number(t.toFixed(6))));
    const text = studio.format.instant(t, to - from);
    parts.handle.setAttribute("aria-valuetext", `${text} of ${studio.format.instant(duration, duration)}`);
    if (parts.clock.textContent !== text) parts.clock.textContent = text;
    Object.assign(parts.zoom.style, { left: share(from), width: share(to - from) });
    parts.zoom.hidden = from === 0 && to === duration;
    parts.play.textContent = playing ? "❚❚" : "▶";
    parts.play.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  function drag(track) {
    const move = (event) => {
      const box = track.getBoundingClientRect();
      studio.time.set({ t: ((event.clientX - box.left) / box.width) * studio.time.duration, playing: false });
    };
    track.addEventListener("pointerdown", (event) => {
      track.setPointerCapture(event.pointerId);
      move(event);
      parts.handle.focus({ preventScroll: true });
      event.preventDefault();
    });
    track.addEventListener("pointermove", (event) => track.hasPointerCapture(event.pointerId) && move(event));
  }

  const toggle = () => (studio.time.playing ? studio.time.pause() : studio.time.play());

  // A second, ten with shift, a tenth with alt; less where less is visible.
  function arrows(event) {
    const { t, from, to, duration } = studio.time;
    const usual = Math.min(1, (to - from) / 20);
    const step = event.shiftKey ? 10 * usual : event.altKey ? usual / 10 : usual;
    const jumps = { ArrowRight: t + step, ArrowUp: t + step, ArrowLeft: t - step, ArrowDown: t - step, PageUp: t + 10 * usual, PageDown: t - 10 * usual, Home: 0, End: duration };
    if (!(event.key in jumps)) return;
    event.preventDefault();
    studio.time.set({ t: jumps[event.key], playing: false });
  }

  const isTyping = (place) => place instanceof Element && place.closest("input, textarea, select, [contenteditable=true], .cm-editor, [role=textbox]");

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !meta) return;
    if (event.key === " " && !(event.target instanceof Element && event.target.closest("button, a, summary, [role=button], [role=tab]"))) {
      event.preventDefault();
      toggle();
    } else if (event.key === "n") next(marks.some((mark) => mark.kind === "handover") ? ["handover"] : ["outage", "change"]);
    else if (event.key === "l") next(["loss"]);
  }

  function next(kinds) {
    const { t, from, to } = studio.time;
    const found = marks.find((mark) => kinds.includes(mark.kind) && mark.time_s > t + 1e-9);
    if (!found) return;
    const changes = { t: found.time_s, playing: false };
    // The visible part goes along, so that the handle stays in it.
    if (found.time_s < from || found.time_s > to) {
      const start = Math.max(0, Math.min(found.time_s - (to - from) / 2, studio.time.duration - (to - from)));
      Object.assign(changes, { from: start, to: start + (to - from) });
    }
    studio.time.set(changes);
  }

  studio.isTyping = isTyping;
  studio.strip = { mount, report: () => ({ marks: marks.length, losses: losses.map((each) => each.label), kinds: [...new Set(marks.map((mark) => mark.kind))] }) };
})();
