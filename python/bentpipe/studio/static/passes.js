// The satellites over a place in time: a bar per pass, solid while the satellite serves the flow.
"use strict";
(() => {
  const studio = globalThis.studio;
  const LANE = 9;
  const LANES_MAX = 40;
  const AXIS = 16; // Height of the times below the lanes, by the size of letters.

  class Passes {
    constructor(element, sky) {
      this.sky = sky;
      element.replaceChildren();
      this.pick = element.appendChild(document.createElement("select"));
      this.pick.setAttribute("aria-label", "Place");
      const places = [...new Set(sky.facts.passes.map((each) => each.place))];
      this.pick.append(...places.map((name) => new Option(`Passes over ${name}`, name)));
      this.pick.value = sky.ends(studio.time.flow)?.[1] ?? places[0];
      this.canvas = element.appendChild(document.createElement("canvas"));
      this.canvas.setAttribute("role", "img");
      this.note = element.appendChild(document.createElement("p"));
      this.pick.addEventListener("change", () => this.draw());
      this.canvas.addEventListener("pointermove", (event) => this.#hover(event));
      this.canvas.addEventListener("click", (event) => studio.time.set({ t: this.#instant(event.offsetX) }));
      new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(element);
      studio.time.on((_, changed) => {
        if (["t", "from", "to", "flow"].some((name) => changed.has(name))) this.draw();
      });
    }

    // Passes in as few lanes as hold them without overlap.
    #lanes(place) {
      const ends = [];
      const passes = this.sky.facts.passes.filter((each) => each.place === place);
      passes.sort((a, b) => a.rise_s - b.rise_s);
      return passes.map((each) => {
        let lane = ends.findIndex((end) => end <= each.rise_s);
        if (lane < 0) lane = ends.length;
        ends[lane] = each.set_s;
        return { ...each, lane };
      });
    }

    #instant(x) {
      const { from, to } = studio.time;
      return from + (x / this.canvas.clientWidth) * (to - from);
    }

    draw() {
      const width = this.canvas.parentElement.clientWidth;
      if (!width) return;
      const place = this.pick.value;
      this.shown = this.#lanes(place);
      const lanes = Math.min(LANES_MAX, 1 + this.shown.reduce((most, each) => Math.max(most, each.lane), 0));
      const axis = AXIS * studio.letters;
      const [height, ratio] = [LANE * lanes + axis, devicePixelRatio || 1];
      this.canvas.style.height = `${height}px`;
      [this.canvas.width, this.canvas.height] = [width * ratio, height * ratio];
      const context = this.canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const style = getComputedStyle(this.canvas);
      const colour = (each) => style.getPropertyValue(`--globe-${each}`).trim();
      const { from, to, t } = studio.time;
      const x = (time) => ((time - from) / (to - from)) * width;
      for (const each of this.shown) {
        if (each.lane >= LANES_MAX || each.set_s < from || each.rise_s > to) continue;
        const top = LANE * each.lane + 1;
        context.fillStyle = colour("bar");
        context.fillRect(x(each.rise_s), top, Math.max(1, x(each.set_s) - x(each.rise_s)), LANE - 2);
        context.fillStyle = colour("path");
        for (const [begin, end] of this.#serving(place, each)) context.fillRect(x(begin), top, Math.max(1, x(end) - x(begin)), LANE - 2);
      }
      context.fillStyle = colour("text");
      context.fillRect(x(t) - 0.5, 0, 1.5, height - axis);
      context.font = `${11 * studio.letters}px ${style.fontFamily}`;
      context.textBaseline = "bottom";
      [[from, "left"], [(from + to) / 2, "center"], [to, "right"]].forEach(([time, align]) => {
        context.textAlign = align;
        context.fillText(`${Number(time.toPrecision(4))} s`, x(time), height);
      });
      this.#tell(place);
    }

    // When a satellite serves the place, within one of its passes.
    #serving(place, pass) {
      const name = this.sky.name(pass.satellite);
      return this.sky.facts.paths
        .filter((path) => (path.from === place && path.from_satellite === name) || (path.to === place && path.to_satellite === name))
        .filter((path) => path.time_s < pass.set_s && path.end_s > pass.rise_s)
        .map((path) => [path.time_s, path.end_s]);
    }

    #tell(place) {
      const now = this.shown.filter((each) => each.rise_s <= studio.time.t && studio.time.t <= each.set_s).length;
      const more = this.shown.some((each) => each.lane >= LANES_MAX) ? ` The first ${LANES_MAX} lanes are shown.` : "";
      const text = `${this.shown.length} ${this.shown.length === 1 ? "pass" : "passes"}, ${now} at the handle. Solid: the satellite serves.${more}`;
      this.note.textContent = text;
      this.canvas.setAttribute("aria-label", `${place}: ${text}`);
    }

    #hover(event) {
      const [time, lane] = [this.#instant(event.offsetX), Math.floor(event.offsetY / LANE)];
      const pass = this.shown?.find((each) => each.lane === lane && each.rise_s <= time && time <= each.set_s);
      this.canvas.title = pass ? `${this.sky.name(pass.satellite)}: up to ${pass.elevation_deg.toFixed(0)}°` : "";
    }
  }

  const mounted = new WeakMap();
  studio.passes = {
    mount(element, sky) {
      if (mounted.get(element)?.sky !== sky) mounted.set(element, new Passes(element, sky));
      return mounted.get(element);
    },
  };
})();
