// One plot: a head with values, the canvas of uPlot, the bands behind it, and a table of the same numbers.
"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});
  const { element } = studio;
  const ROWS = 12; // Of the table.

  // `about`: { id, title, fromZero, painter, onRemove }. A painter draws what is no curve: it has `data`, `range`, `paint`, `rows`.
  function make(about, shared) {
    const head = element("div", { class: "studio-head" });
    const units = element("span", { class: "studio-unit" });
    const heading = element("h2", {}, `${about.title} `, units);
    const frame = element("div", { class: "studio-frame", role: "img" });
    const table = element("div", { class: "studio-table", hidden: true, tabindex: "0", role: "region", "aria-label": `Table of ${about.title}` });
    const toggle = element("button", { type: "button", class: "studio-quiet", "aria-pressed": "false", title: "Show the numbers as a table" }, "Table");
    const remove = about.onRemove
      ? element("button", { type: "button", class: "studio-quiet", title: `Remove ${about.title}`, "aria-label": `Remove ${about.title}`, onclick: about.onRemove }, "×")
      : null;
    const line = element("div", { class: "studio-line" });
    const bar = element("div", { class: "studio-panelbar" }, head, toggle, remove);
    const box = element("section", { class: "studio-panel", "data-panel": about.id, "aria-label": about.title }, bar, frame, table);
    const panel = { about, box, curves: [], plot: null, under: null };
    let labels = [];

    toggle.addEventListener("click", () => {
      table.hidden = !table.hidden;
      frame.hidden = !table.hidden;
      toggle.setAttribute("aria-pressed", String(!table.hidden));
      if (!table.hidden) fill();
    });

    function size() {
      return { width: Math.max(120, frame.clientWidth), height: Math.max(60, frame.clientHeight) };
    }

    function build() {
      panel.plot?.destroy();
      const drawn = about.painter ? [{ paths: () => null, points: { show: false } }] : all().map(stroke);
      panel.plot = new uPlot(options(drawn), [[0, 1], ...drawn.map(() => [null, null])], frame);
      panel.plot.over.append(line);
      listen(panel.plot.over);
    }

    // Those of the pinned run come first, so that they are behind.
    const all = () => [...panel.curves.flatMap((curve) => curve.behind), ...panel.curves];

    function stroke(curve) {
      return {
        label: `${curve.name} ${curve.of}`,
        stroke: () => studio.palette.colour(curve.isBehind ? "behind" : curve.colour),
        width: curve.isBehind ? 1 : 1.4,
        dash: curve.dash.length ? curve.dash : undefined,
        paths: uPlot.paths.stepped({ align: curve.style === "rate" ? -1 : 1 }),
        points: { show: false },
        spanGaps: true,
      };
    }

    function options(series) {
      const axis = { stroke: () => studio.palette.colour("soft"), grid: { stroke: () => studio.palette.colour("grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
      return {
        ...size(),
        legend: { show: false },
        padding: [6, 22, 0, 0],
        scales: { x: { time: false, range: () => [studio.time.from, studio.time.to] }, y: { range: (_, low, high) => range(low, high) } },
        axes: [
          { ...axis, size: () => (panel.isLast ? 22 : 8), values: (_, marks) => marks.map((mark) => (panel.isLast ? `${Number(mark.toFixed(6))} s` : "")) },
          { ...axis, size: 48, values: (_, marks) => scaled(marks) },
        ],
        cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: "studio" }, points: { show: false }, bind: { dblclick: () => () => null } },
        series: [{}, ...series],
        hooks: { drawClear: [shared.bands], draw: [(plot) => about.painter?.paint(plot)], setSelect: [selected], setCursor: [() => underCursor()] },
      };
    }

    function selected(plot) {
      if (plot.select.width < 4) return;
      const from = plot.posToVal(plot.select.left, "x");
      const to = plot.posToVal(plot.select.left + plot.select.width, "x");
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      studio.time.set({ from, to });
    }

    function listen(over) {
      let down = 0;
      over.addEventListener("mousedown", (event) => (down = event.clientX));
      over.addEventListener("mouseup", (event) => {
        if (event.button === 0 && event.detail < 2 && Math.abs(event.clientX - down) < 4) studio.time.set({ t: panel.plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x") });
      });
      over.addEventListener("dblclick", () => studio.time.set({ from: null, to: null }));
    }

    function range(low, high) {
      const main = panel.curves.filter((curve) => !curve.isAside && curve.points);
      let [least, most] = [Infinity, -Infinity];
      for (const curve of main.flatMap((each) => [each, ...each.behind])) {
        for (const value of curve.points ? curve.points.values : []) {
          if (value < least) least = value;
          if (value > most) most = value;
        }
      }
      if (about.painter) [least, most] = about.painter.range();
      if (!(most > -Infinity)) [least, most] = [low ?? 0, high ?? 1];
      if (about.fromZero) [least, most] = [Math.min(0, least), most > 0 ? most : 1];
      const room = (most - least || Math.abs(most) || 1) * 0.06;
      return [about.fromZero && least === 0 ? 0 : least - room, most + room];
    }

    function scaled(marks) {
      const [divisor, name] = studio.format.scale(Math.max(...marks.map(Math.abs)), unit());
      units.textContent = name;
      return marks.map((mark) => String(Number((mark / divisor).toPrecision(4))));
    }

    const unit = () => about.painter?.unit || (panel.curves.length ? panel.curves[0].unit : "1");

    // All curves in one plot have the same instants.
    function data() {
      if (about.painter) return about.painter.data(panel.curves);
      const tables = all().map((curve) => (curve.points && curve.points.times.length ? studio.curves.drawn(curve, studio.time.to) : [[studio.time.from], [null]]));
      if (!tables.length) return [[0], []];
      return tables.length === 1 ? [tables[0][0], tables[0][1]] : uPlot.join(tables);
    }

    function draw() {
      if (!panel.plot || box.hidden) return;
      panel.plot.batch(() => {
        panel.plot.setData(data(), false);
        panel.plot.setScale("x", { min: studio.time.from, max: studio.time.to });
      });
      place();
      describe();
      if (!table.hidden) fill();
    }

    function place() {
      if (!panel.plot) return;
      const { t, from, to } = studio.time;
      line.hidden = t < from || t > to;
      if (!line.hidden) line.style.transform = `translateX(${panel.plot.valToPos(t, "x").toFixed(1)}px)`;
    }

    function title() {
      labels = panel.curves.map((curve) => {
        const key = element("span", { class: "studio-key" });
        key.style.setProperty("--key", `var(--studio-${curve.colour})`);
        if (curve.dash.length) key.dataset.dashed = "";
        const exact = element("b", { class: "studio-value" });
        const under = element("span", { class: "studio-under" });
        const chip = element("span", { class: "studio-chip", title: curve.meaning, "data-series": curve.name, "data-of": curve.of }, key, element("span", {}, curve.label), exact, under);
        return { curve, chip, exact, under };
      });
      head.replaceChildren(heading, ...labels.map((label) => label.chip), ...(about.painter?.legend?.() || []));
    }

    // `exact` has the values of `RunResult.at`, or nothing while the handle moves.
    function values(exact) {
      const t = studio.time.t;
      for (const { curve, exact: place } of labels) {
        if (curve.style === "event") {
          place.textContent = curve.points ? String(curve.points.values.reduce((sum, count) => sum + count, 0)) : "";
          continue;
        }
        const known = exact && exact[curve.name] ? exact[curve.name][curve.of] ?? null : undefined;
                const isAbout = known === undefined && curve.points && curve.points.isThinned;
        const value = known === undefined ? studio.curves.value(curve, t) : known;
        curve.shown = value;
        place.textContent = (isAbout && value !== null ? "≈ " : "") + studio.format.quantity(value, curve.unit);
      }
    }

    function underCursor() {
      const left = panel.plot.cursor.left;
      const t = left >= 0 ? panel.plot.posToVal(left, "x") : null;
      for (const { curve, under } of labels) {
        const value = t === null || curve.style === "event" ? null : studio.curves.value(curve, t);
        under.textContent = value === null ? "" : studio.format.quantity(value, curve.unit);
      }
    }

    function describe() {
      const { from, to } = studio.time;
      if (about.painter?.legend) head.replaceChildren(heading, ...about.painter.legend());
      const said = panel.curves.map((curve) => {
        const points = curve.points ? curve.points.values : [];
        let [least, most] = [Infinity, -Infinity];
        for (const value of points) [least, most] = [Math.min(least, value), Math.max(most, value)];
        return points.length ? `${curve.label} ${studio.format.quantity(least, curve.unit)} to ${studio.format.quantity(most, curve.unit)}` : `${curve.label} no values`;
      });
      frame.setAttribute("aria-label", `${about.title} from ${studio.format.instant(from, to - from)} to ${studio.format.instant(to, to - from)}: ${said.join("; ")}`);
    }

    function fill() {
      const [heads, rows] = about.painter ? about.painter.rows(panel.curves) : rowsOf();
      const row = (cells, tag) => element("tr", {}, ...cells.map((cell) => element(tag, tag === "th" ? { scope: "col" } : {}, cell)));
      table.replaceChildren(element("table", {}, element("caption", {}, about.title), element("thead", {}, row(heads, "th")), element("tbody", {}, ...rows.map((cells) => row(cells, "td")))));
    }

    function rowsOf() {
      const { from, to } = studio.time;
      const times = Array.from({ length: ROWS + 1 }, (_, index) => from + ((to - from) * index) / ROWS);
      const cells = (t) => panel.curves.map((curve) => studio.format.quantity(studio.curves.value(curve, t), curve.unit));
      return [["time", ...panel.curves.map((curve) => curve.label)], times.map((t) => [studio.format.instant(t, to - from), ...cells(t)])];
    }

    function resize() {
      const { width, height } = size();
      if (panel.plot && !frame.hidden && (panel.plot.width !== width || panel.plot.height !== height)) panel.plot.setSize({ width, height });
      place();
    }

    function show(isShown) {
      if (box.hidden === !isShown) return;
      box.hidden = !isShown;
    }

    const set = (curves) => {
      panel.curves = curves;
      title();
      build();
    };
    const report = () => ({
      id: about.id,
      isShown: !box.hidden,
      curves: panel.curves.map((curve) => ({ name: curve.name, of: curve.of, points: curve.points ? curve.points.times.length : 0, behind: curve.behind.map((each) => (each.points ? each.points.times.length : 0)), value: curve.shown ?? null, isThinned: Boolean(curve.points && curve.points.isThinned) })),
      x: panel.plot ? [panel.plot.scales.x.min, panel.plot.scales.x.max] : null,
      y: panel.plot ? [panel.plot.scales.y.min, panel.plot.scales.y.max] : null,
    });
    return Object.assign(panel, { set, show, draw, place, values, resize, report, redraw: () => panel.plot?.redraw(false), destroy: () => (panel.plot?.destroy(), box.remove()), width: () => size().width });
  }

  studio.panel = { make };
})();
