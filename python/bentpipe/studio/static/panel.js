// One plot: a head with values, the canvas of uPlot, the bands behind it, and a table of the same numbers.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const ROWS = 12; // Of the table.
  const DRAG_LEAST = 4; // Pixels; less is a click.
  const ROOM = 0.06; // Above and below the curves, as a share of their range.

  class Panel {
    // `about`: { id, title, fromZero, names, painter, onRemove }. A painter draws what is no curve: it has `data`,
    // `range`, `paint`, `rows`, and perhaps `legend`, `said` and `unit`. `bands` paints what is behind all plots.
    constructor(about, bands) {
      this.about = about;
      this.bands = bands;
      this.curves = [];
      this.labels = [];
      this.plot = null;
      this.isLast = false;
      const quiet = { type: "button", class: "studio-quiet" };
      this.units = element("span", { class: "studio-unit" });
      this.heading = element("h2", {}, `${about.title} `, this.units);
      this.widths = element("span", { class: "studio-unit" });
      this.head = element("div", { class: "studio-head" }, this.heading);
      this.frame = element("div", { class: "studio-frame", role: "img" });
      this.table = element("div", { class: "studio-table", hidden: true, tabindex: "0", role: "region", "aria-label": `Table of ${about.title}` });
      this.toggle = element("button", { ...quiet, "aria-pressed": "false", title: "Show the numbers as a table", onclick: () => this.#turn() }, "Table");
      this.line = element("div", { class: "studio-line" });
      const name = `Remove ${about.title}`;
      const remove = about.onRemove ? element("button", { ...quiet, title: name, "aria-label": name, onclick: about.onRemove }, "×") : null;
      const bar = element("div", { class: "studio-panelbar" }, this.head, this.toggle, remove);
      this.box = element("section", { class: "studio-panel", "data-panel": about.id, "aria-label": about.title }, bar, this.frame, this.table);
    }

    // The curves, with those of the pinned run in front of the list: they are drawn first, so they are behind.
    set(curves) {
      this.curves = curves;
      this.#label();
      this.plot?.destroy();
      this.plot = new uPlot(this.#options(), [[0, 1], [null, null]], this.frame);
      this.plot.over.append(this.line);
      this.#listen(this.plot.over);
    }

    #all() {
      return [...this.curves.flatMap((curve) => curve.behind), ...this.curves].filter((curve) => !curve.isHidden);
    }

    #options() {
      const font = (size) => `${size * studio.letters}px ${getComputedStyle(this.frame).fontFamily}`;
      const axis = {
        stroke: () => studio.palette.colour("soft"),
        grid: { stroke: () => studio.palette.colour("grid"), width: 1 },
        ticks: { show: false },
        font: font(11),
      };
      const seconds = (_, marks) => marks.map((mark) => (this.isLast ? `${Number(mark.toFixed(6))} s` : ""));
      return {
        ...this.#size(),
        legend: { show: false },
        padding: [6 * studio.letters, 22 * studio.letters, 0, 0],
        scales: { x: { time: false, range: () => [studio.time.from, studio.time.to] }, y: { range: () => this.#range() } },
        axes: [
          { ...axis, size: () => (this.isLast ? 22 * studio.letters : 8), values: seconds },
          { ...axis, ...(this.curves[0]?.names ? { gap: 2, font: font(10) } : {}), size: 48 * studio.letters, values: (_, marks) => this.#scaled(marks) },
        ],
        cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: "studio" }, points: { show: false }, bind: { dblclick: () => () => null } },
        series: [{}, { paths: () => null, points: { show: false } }],
        hooks: {
          drawClear: [this.bands],
          draw: [(plot) => (this.about.painter ? this.about.painter.paint(plot) : studio.lines.paint(plot, this.#all()))],
          setSelect: [zoom],
          setCursor: [() => this.#underCursor()],
        },
      };
    }

    // A click moves the handle, a double click shows the whole run.
    #listen(over) {
      let down = 0;
      over.addEventListener("mousedown", (event) => (down = event.clientX));
      over.addEventListener("mouseup", (event) => {
        if (event.button !== 0 || event.detail > 1 || Math.abs(event.clientX - down) >= DRAG_LEAST) return;
        const box = over.getBoundingClientRect();
        studio.time.set({ t: this.plot.posToVal(event.clientX - box.left, "x") });
        this.about.painter?.pick?.(this.plot, event.clientY - box.top);
      });
      over.addEventListener("dblclick", () => studio.time.set({ from: null, to: null }));
    }

    #range() {
      const { painter, fromZero } = this.about;
      const counted = this.curves.filter((curve) => !curve.isAside).flatMap((curve) => [curve, ...curve.behind]);
      let [least, most] = painter ? painter.range() : studio.curves.extent(counted);
      most = this.#capped(most);
      if (!(most > -Infinity)) [least, most] = [0, 1];
      if (fromZero) [least, most] = [Math.min(0, least), most > 0 ? most : 1];
      const room = (most - least || Math.abs(most) || 1) * ROOM;
      return [fromZero && least === 0 ? 0 : least - room, most + room];
    }

    // Bursts of data that waited for a repair must not press the rest of the curve to the ground.
    #capped(most) {
      if (!this.about.cap) return most;
      const [name, times] = this.about.cap;
      const reference = studio.curves.extent(this.curves.filter((curve) => curve.name === name))[1];
      return reference > 0 ? Math.min(most, reference * times) : most;
    }

    #scaled(marks) {
      if (this.about.painter?.isNamed) return marks.map(() => "");
      const unit = this.about.painter?.unit || (this.curves.length ? this.curves[0].unit : "1");
      const [divisor, name] = studio.format.scale(Math.max(...marks.map(Math.abs)), unit);
      const width = Math.max(0, ...this.curves.filter((curve) => curve.points && !["count", "state"].includes(curve.kind)).map((curve) => curve.points.width));
      this.units.textContent = name;
      this.widths.textContent = width > 0 ? `means of ${studio.format.width(width)}` : "";
      const names = this.curves[0]?.names;
      return marks.map((mark) => (names ? (names[mark] ?? "").replace(" ", "\n") : String(Number((mark / divisor).toPrecision(4)))));
    }

    #data() {
      return this.about.painter ? this.about.painter.data(this.curves) : [[studio.time.from, studio.time.to], [null, null]];
    }

    draw() {
      if (!this.plot || this.box.hidden) return;
      this.plot.batch(() => {
        this.plot.setData(this.#data(), false);
        this.plot.setScale("x", { min: studio.time.from, max: studio.time.to });
      });
      this.place();
      this.#describe();
      if (!this.table.hidden) this.#fill();
    }

    redraw() {
      this.plot?.redraw(false);
    }

    place() {
      if (!this.plot) return;
      const { t, from, to } = studio.time;
      this.line.hidden = t < from || t > to;
      if (!this.line.hidden) this.line.style.transform = `translateX(${this.plot.valToPos(t, "x").toFixed(1)}px)`;
    }

    #label() {
      this.labels = this.curves.map((curve) => {
        const key = element("span", { class: "studio-key", "data-dashed": curve.dash.length > 0 });
        key.style.setProperty("--key", `var(--studio-${curve.colour})`);
        const exact = element("b", { class: "studio-value" });
        const sample = element("span", { class: "studio-sample", title: "The exact value at the handle" });
        const under = element("span", { class: "studio-under" });
        const chip = element("span", { class: "studio-chip", title: curve.meaning, "data-series": curve.name, "data-of": curve.of }, key, element("span", {}, curve.label), exact, sample, under);
        return { curve, chip, exact, sample, under, pinned: curve.behind.map((each) => pinnedChip(each)) };
      });
      const chips = this.labels.flatMap(({ chip, pinned }) => [chip, ...pinned.map((each) => each.chip)]);
      this.head.replaceChildren(this.heading, ...chips, this.widths);
    }

    // The label is the value of the drawn column. `known` has the values of `RunResult.find_values` behind it, or nothing
    // while the handle moves.
    values(known) {
      const told = new Set();
      if (this.about.painter?.legend) this.head.replaceChildren(this.heading, ...this.about.painter.legend());
      for (const { curve, chip, exact, sample, pinned } of this.labels) {
        for (const each of pinned) each.exact.textContent = studio.curves.said(each.curve, studio.curves.value(each.curve, studio.time.t));
        if (curve.kind === "count") {
          exact.textContent = curve.points ? String(curve.points.values.reduce((sum, count) => sum + count, 0)) : "";
          continue;
        }
        curve.drawn = studio.curves.value(curve, studio.time.t);
        curve.shown = known && known[curve.name] ? known[curve.name][curve.of] ?? null : curve.drawn;
        exact.textContent = studio.curves.said(curve, curve.drawn);
        const text = studio.curves.said(curve, curve.shown);
        // Flows over one route have one rate.
        if (curve.isReference) [chip.hidden] = [told.has(text), told.add(text)];
        const isOther = curve.points && curve.points.width > 0 && curve.shown !== curve.drawn && text !== exact.textContent;
        sample.textContent = isOther ? `(${text})` : "";
      }
    }

    // Curves without information are neither drawn nor named.
    hide(isIdle) {
      for (const { curve, chip, pinned } of this.labels) {
        chip.hidden = curve.isHidden = isIdle(curve);
        for (const each of pinned) each.chip.hidden = chip.hidden;
      }
    }

    #underCursor() {
      const left = this.plot.cursor.left;
      const t = left >= 0 ? this.plot.posToVal(left, "x") : null;
      for (const { curve, under } of this.labels) {
        const value = t === null || curve.kind === "count" ? null : studio.curves.value(curve, t);
        under.textContent = value === null ? "" : studio.curves.said(curve, value);
      }
    }

    // In words, for those who do not see the picture.
    #describe() {
      const { painter, title } = this.about;
      if (painter?.legend) this.head.replaceChildren(this.heading, ...painter.legend());
      const { from, to } = studio.time;
      const said = painter?.said ? painter.said() : this.curves.map(rangeOf).join("; ");
      this.frame.setAttribute("aria-label", `${title} from ${studio.format.instant(from, to - from)} to ${studio.format.instant(to, to - from)}: ${said}`);
    }

    #turn() {
      this.table.hidden = !this.table.hidden;
      this.frame.hidden = !this.table.hidden;
      this.toggle.setAttribute("aria-pressed", String(!this.table.hidden));
      if (this.table.hidden) this.resize();
      else this.#fill();
    }

    #fill() {
      const [heads, rows] = this.about.painter ? this.about.painter.rows(this.curves) : rowsOf(this.curves);
      const row = (cells, tag, attributes = {}) => element("tr", {}, ...cells.map((cell) => element(tag, attributes, cell)));
      const body = element("tbody", {}, ...rows.map((cells) => row(cells, "td")));
      this.table.replaceChildren(element("table", {}, element("caption", {}, this.about.title), element("thead", {}, row(heads, "th", { scope: "col" })), body));
    }

    #size() {
      return { width: this.width(), height: Math.max(60, this.frame.clientHeight) };
    }

    width() {
      return Math.max(120, this.frame.clientWidth);
    }

    resize() {
      const { width, height } = this.#size();
      if (this.plot && !this.frame.hidden && (this.plot.width !== width || this.plot.height !== height)) this.plot.setSize({ width, height });
      this.place();
    }

    show(isShown) {
      this.box.hidden = !isShown;
    }

    destroy() {
      this.plot?.destroy();
      this.box.remove();
    }

    report() {
      const count = (curve) => (curve.points ? curve.points.begins.length : 0);
      const curves = this.curves.map((curve) => ({
        name: curve.name,
        of: curve.of,
        points: count(curve),
        behind: curve.behind.map(count),
        pinned: curve.behind.map((each) => [each.label, each.colour]),
        colour: curve.colour,
        value: curve.shown ?? null,
        drawn: curve.drawn ?? null,
        width: curve.points ? curve.points.width : 0,
      }));
      const scale = (name) => (this.plot ? [this.plot.scales[name].min, this.plot.scales[name].max] : null);
      return { id: this.about.id, isShown: !this.box.hidden, curves, x: scale("x"), y: scale("y") };
    }
  }

  function pinnedChip(curve) {
    const key = element("span", { class: "studio-key", "data-dashed": true });
    key.style.setProperty("--key", `var(--studio-${curve.colour})`);
    const exact = element("b", { class: "studio-value" });
    const chip = element("span", { class: "studio-chip", title: `Pinned run: ${curve.label}`, "data-pin": curve.run }, key, element("span", {}, curve.label), exact);
    return { curve, chip, exact };
  }

  function zoom(plot) {
    if (plot.select.width < DRAG_LEAST) return;
    const [from, to] = [plot.select.left, plot.select.left + plot.select.width].map((left) => plot.posToVal(left, "x"));
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    studio.time.set({ from, to });
  }

  function rangeOf(curve) {
    const [least, most] = studio.curves.extent([curve]);
    return most < least ? `${curve.label} no values` : `${curve.label} ${studio.curves.said(curve, least)} to ${studio.curves.said(curve, most)}`;
  }

  function rowsOf(curves) {
    const { from, to } = studio.time;
    const times = Array.from({ length: ROWS + 1 }, (_, index) => from + ((to - from) * index) / ROWS);
    const cells = (t) => curves.map((curve) => studio.curves.said(curve, studio.curves.value(curve, t)));
    return [["time", ...curves.map((curve) => curve.label)], times.map((t) => [studio.format.instant(t, to - from), ...cells(t)])];
  }

  studio.panel = { make: (about, bands) => new Panel(about, bands) };
})();
