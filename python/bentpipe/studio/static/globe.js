// The globe: land, satellites, links between them, the path of a flow and the footprints of its ends, at the handle.
"use strict";
(() => {
  const studio = globalThis.studio;
  const NEAR_KM = 2000; // Heights above are drawn at a fifteenth, or the Earth would be a dot below a geostationary satellite.
  const FAR_SHARE = 1 / 15;
  const LINKS_MAX = 8000; // More links are hidden while the globe moves.
  const PIECES = 12; // Of a line between two nodes, each in front of the Earth or behind it.
  const TURN_DEG = 0.35; // By pixel of a drag.
  const ZOOM_MAX = 12;
  const MARGIN = 6; // Around the globe.
  const LEGEND_STEPS = 5;
  const FAINT = 0.1; // Opacity of the least value in a layer of cells, and what the largest has more.
  const DEEP = 0.6;
  const LAYERS = [{ text: "Path" }, { text: "Passes", isPasses: true }];

  class Globe {
    constructor(element) {
      this.element = element;
      this.view = { east: 0, north: 20, zoom: 1, layer: LAYERS[0], hover: -1, isMoving: false };
      this.shown = null;
      this.colours = new Map();
      this.ground = null; // The land as it was drawn last, with the view that it is of.
      this.#build();
      this.#listen();
      studio.time.on((state, changed) => this.#follow(changed));
      this.#open();
    }

    #build() {
      const make = (tag, parent, className) => {
        const made = document.createElement(tag);
        if (className) made.className = className;
        parent.append(made);
        return made;
      };
      this.element.classList.add("globe");
      this.family = getComputedStyle(this.element).fontFamily;
      const bar = make("div", this.element, "globe-bar");
      this.about = make("span", bar, "globe-about");
      this.pick = make("select", bar, "globe-pick");
      this.pick.setAttribute("aria-label", "What the globe shows");
      this.stage = make("div", this.element, "globe-stage");
      this.canvas = make("canvas", this.stage);
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "img");
      this.plot = make("div", this.stage, "globe-skyplot");
      this.line = make("p", this.element, "globe-line");
      this.line.setAttribute("aria-live", "polite");
      this.passes = make("div", this.element, "globe-passes");
      this.passes.hidden = true;
    }

    #listen() {
      new ResizeObserver(() => this.#soon()).observe(this.stage);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#dress());
      new MutationObserver(() => this.#dress()).observe(document.documentElement, { attributeFilter: ["data-scheme"] });
      this.pick.addEventListener("change", () => this.#choose(this.layers[this.pick.value]));
      this.canvas.addEventListener("pointerdown", (event) => this.#drag(event));
      this.canvas.addEventListener("pointermove", (event) => this.#hover(event));
      this.canvas.addEventListener("wheel", (event) => this.#zoom(event), { passive: false });
      this.canvas.addEventListener("dblclick", () => this.#home());
      this.canvas.addEventListener("keydown", (event) => this.#key(event));
    }

    async #open() {
      const run = studio.time.run;
      this.shown = run;
      if (!run) {
        this.sky = null;
        this.element.classList.add("is-empty");
        this.line.textContent = "";
        return;
      }
      try {
        const { has_sky: hasSky } = await studio.source.meta(run);
        if (this.shown !== run) return;
        this.element.classList.toggle("is-empty", !hasSky);
        this.sky = null;
        if (!hasSky) {
          this.line.textContent = "This scenario has no sky: its links are on the ground.";
          return;
        }
        const [sky, land] = await Promise.all([studio.skyOf(run), studio.source.land()]);
        if (this.shown !== run) return;
        this.sky = sky;
        this.land = topojson.feature(land, land.objects.land);
        this.#offer();
        this.#home();
      } catch (error) {
        this.line.textContent = String(error.message ?? error);
      }
    }

    // The choices of what is shown; only live pages can ask for the cells of a moment.
    #offer() {
      /** @type {any[]} */
      this.layers = [...LAYERS];
      if (studio.source.isLive && studio.source.coverage) {
        const isOnly = this.sky.constellations.length === 1;
        for (const { name: constellation, places } of this.sky.constellations) {
          const add = (text, cells) => this.layers.push({ text: isOnly ? text : `${text}: ${constellation}`, cells });
          add("Satellites in view", { constellation });
          add("Delay to a satellite", { constellation, isDelay: true });
          for (const to of places) add(`Delay to ${to}`, { constellation, isDelay: true, to });
        }
      }
      this.pick.replaceChildren(...this.layers.map(({ text }, index) => new Option(text, String(index))));
      const kept = Math.max(0, this.layers.findIndex(({ text }) => text === this.view.layer.text));
      this.pick.value = kept;
      this.#choose(this.layers[kept]);
      this.about.textContent = this.sky.constellations
        .map((each) => `${each.name}: ${each.count.toLocaleString("en")} ${each.count === 1 ? "satellite" : "satellites"}`)
        .join(" · ");
    }

    #choose(layer) {
      this.view.layer = layer;
      this.passes.hidden = !layer.isPasses;
      this.plot.hidden = layer.isPasses;
      if (layer.isPasses) studio.passes.mount(this.passes, this.sky);
      this.cells = null;
      this.#follow(new Set(["t"]));
    }

    async #follow(changed) {
      if (changed.has("run") && studio.time.run !== this.shown) return this.#open();
      if (!this.sky || !(changed.has("t") || changed.has("flow") || changed.has("playing"))) return;
      this.draw();
      clearTimeout(this.later);
      if (this.view.layer.cells) this.later = setTimeout(() => this.#cover(this.view.layer), 250);
    }

    // The cells of the moment at which the handle rests.
    async #cover(layer) {
      const { constellation, isDelay, to } = layer.cells;
      const asked = { constellation, t: studio.time.t, ...(to && { to }) };
      try {
        const found = await (isDelay ? studio.source.delays : studio.source.coverage)(this.shown, asked);
        if (this.view.layer === layer) this.cells = this.#measured(found, isDelay);
      } catch (error) {
        this.line.textContent = String(error.message ?? error);
      }
      this.draw();
    }

    // Values with the range of their colours. A cell without a satellite or path has none.
    #measured({ cell_deg: size, counts, delays_ms: delays }, isDelay) {
      const values = isDelay ? delays : counts.map((count) => count || null);
      const given = values.filter((value) => value !== null);
      const most = given.reduce((a, b) => Math.max(a, b), isDelay ? 0 : 1);
      const least = isDelay ? given.reduce((a, b) => Math.min(a, b), most) : 0;
      const ends = isDelay ? [least.toFixed(0), `${most.toFixed(0)} ms`] : ["0", `${most} in view`];
      return { size, values, least, most, ends: given.length || !isDelay ? ends : null };
    }

    // Turns the middle of the flow's path to the front.
    #home() {
      this.sky.at(studio.time.t);
      const middle = (this.sky.ends(studio.time.flow) ?? []).map((name) => this.sky.position(this.sky.place(name)));
      const [x, y, z] = [0, 1, 2].map((axis) => middle.reduce((sum, each) => sum + each[axis], 0));
      const degrees = 180 / Math.PI;
      Object.assign(this.view, { east: Math.atan2(y, x) * degrees, north: Math.atan2(z, Math.hypot(x, y)) * degrees, zoom: 1 });
      this.draw();
    }

    #drag(event) {
      const begin = { x: event.clientX, y: event.clientY, east: this.view.east, north: this.view.north };
      this.canvas.setPointerCapture(event.pointerId);
      const turn = TURN_DEG / this.view.zoom;
      const move = (now) => {
        this.view.isMoving = true;
        this.view.east = begin.east - turn * (now.clientX - begin.x);
        this.view.north = Math.max(-90, Math.min(90, begin.north + turn * (now.clientY - begin.y)));
        this.#soon();
      };
      const end = () => {
        this.canvas.removeEventListener("pointermove", move);
        this.view.isMoving = false;
        this.#soon();
      };
      this.canvas.addEventListener("pointermove", move);
      this.canvas.addEventListener("pointerup", end, { once: true });
      this.canvas.addEventListener("pointercancel", end, { once: true });
    }

    #zoom(event) {
      event.preventDefault();
      this.view.zoom = Math.max(1, Math.min(ZOOM_MAX, this.view.zoom * Math.exp(-event.deltaY / 500)));
      this.#soon();
    }

    #key(event) {
      const turns = { ArrowLeft: [-10, 0], ArrowRight: [10, 0], ArrowUp: [0, 10], ArrowDown: [0, -10] };
      const zooms = { "+": 1.25, "-": 0.8 };
      if (!(event.key in turns) && !(event.key in zooms)) return;
      event.preventDefault();
      event.stopPropagation();
      const [east, north] = turns[event.key] ?? [0, 0];
      this.view.east += east;
      this.view.north = Math.max(-90, Math.min(90, this.view.north + north));
      this.view.zoom = Math.max(1, Math.min(ZOOM_MAX, this.view.zoom * (zooms[event.key] ?? 1)));
      this.#soon();
    }

    #hover(event) {
      if (!this.points || this.view.isMoving) return;
      const box = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      let [near, least] = [-1, 64];
      for (let node = 0; node < this.sky.count; node++) {
        if (!this.points[3 * node + 2]) continue;
        const distance = (this.points[3 * node] - x) ** 2 + (this.points[3 * node + 1] - y) ** 2;
        if (distance < least) [near, least] = [node, distance];
      }
      if (near !== this.view.hover) {
        this.view.hover = near;
        this.#soon();
      }
    }

    // At most one drawing a frame.
    #soon() {
      this.frame ??= requestAnimationFrame(() => {
        this.frame = null;
        this.draw();
      });
    }

    // Colours are read once for each scheme: a style costs more than a satellite.
    #dress() {
      this.colours = new Map();
      this.ground = null;
      if (this.view.layer.isPasses) studio.passes.mount(this.passes, this.sky).draw();
      this.draw();
    }

    colour(name) {
      if (!this.colours.has(name)) this.colours.set(name, getComputedStyle(this.element).getPropertyValue(`--globe-${name}`).trim());
      return this.colours.get(name);
    }

    draw() {
      const { clientWidth: width, clientHeight: height } = this.stage;
      if (!this.sky || !width || !height) return;
      const ratio = devicePixelRatio || 1;
      if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
      }
      const context = this.canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      const path = this.#paint(context, width, height);
      this.#tell(path);
      if (!this.plot.hidden) studio.skyplot.draw(this.plot, this.sky, path, (name) => this.colour(name), this.family);
    }

    #paint(context, width, height) {
      this.sky.at(studio.time.t);
      this.#aim(width, height);
      this.#place();
      const path = this.sky.path(studio.time.flow, studio.time.t);
      this.#earth(context, width, height);
      this.#coverage(context);
      this.#links(context);
      this.#satellites(context, path);
      this.#footprints(context, path);
      this.#path(context, path);
      this.#names(context, width, height);
      this.#legend(context, width, height);
      return path;
    }

    // The picture of the moment, for a page of paper.
    svg() {
      if (!this.sky) return null;
      const { clientWidth: width, clientHeight: height } = this.stage;
      const context = new studio.SvgContext(width || 480, height || 480);
      this.#paint(context, context.width, context.height);
      return context.text();
    }

    // The projection of this drawing: the highest satellite is within the picture, and the sky plot is beside the globe.
    #aim(width, height) {
      let highest = 1;
      for (let node = 0; node < this.sky.count; node += 7) highest = Math.max(highest, this.#lifted(node));
      const { radius, middle } = this.plot.hidden
        ? { radius: Math.min(width, height) / 2 - MARGIN, middle: [width / 2, height / 2] }
        : studio.skyplot.room(width, height);
      // In steps: a height that changes by a metre must not draw the land again.
      const scale = this.view.zoom * Math.round((2 * radius) / highest) * 0.5;
      const { east, north } = this.view;
      this.projection = d3.geoOrthographic().scale(scale).translate(middle).rotate([-east, -north]).clipAngle(90);
      const [u, v] = [(east * Math.PI) / 180, (north * Math.PI) / 180];
      this.axes = {
        right: [-Math.sin(u), Math.cos(u), 0],
        up: [-Math.sin(v) * Math.cos(u), -Math.sin(v) * Math.sin(u), Math.cos(v)],
        front: [Math.cos(v) * Math.cos(u), Math.cos(v) * Math.sin(u), Math.sin(v)],
        scale,
        middle,
      };
    }

    // Distance from the middle of the Earth as it is drawn, in radii of the Earth.
    #lifted(node) {
      return this.#liftedTo(Math.hypot(...this.sky.position(node)));
    }

    #liftedTo(radius) {
      const height = radius - studio.EARTH_KM;
      const drawn = height > NEAR_KM ? NEAR_KM + FAR_SHARE * (height - NEAR_KM) : Math.max(height, 0);
      return 1 + drawn / studio.EARTH_KM;
    }

    // Where each node is in the picture: x, y, and 1 unless the Earth hides it.
    #place() {
      const nodes = this.sky.count + this.sky.facts.places.length;
      this.points ??= new Float64Array(3 * nodes);
      if (this.points.length !== 3 * nodes) this.points = new Float64Array(3 * nodes);
      const { right, up, front, scale, middle } = this.axes;
      const all = this.sky.positions;
      for (let node = 0; node < nodes; node++) {
        const [x, y, z] = [all[3 * node], all[3 * node + 1], all[3 * node + 2]];
        const length = Math.sqrt(x * x + y * y + z * z);
        const share = length ? this.#liftedTo(length) / length : 0;
        const across = share * (x * right[0] + y * right[1]);
        const along = share * (x * up[0] + y * up[1] + z * up[2]);
        const depth = x * front[0] + y * front[1] + z * front[2];
        this.points[3 * node] = middle[0] + scale * across;
        this.points[3 * node + 1] = middle[1] - scale * along;
        this.points[3 * node + 2] = share && (depth >= 0 || across * across + along * along > 1) ? 1 : 0;
      }
    }

    #project(x, y, z) {
      const { right, up, front, scale, middle } = this.axes;
      const across = x * right[0] + y * right[1];
      const along = x * up[0] + y * up[1] + z * up[2];
      const depth = x * front[0] + y * front[1] + z * front[2];
      const isSeen = depth >= 0 || across * across + along * along > 1;
      return [middle[0] + scale * across, middle[1] - scale * along, isSeen];
    }

    // Sea, land and graticule change with the view only; a canvas keeps them while the handle moves.
    #earth(context, width, height) {
      if (context.canvas) {
        const ratio = devicePixelRatio || 1;
        const view = [width, height, ratio, this.view.east, this.view.north, this.axes.scale, ...this.axes.middle].join();
        if (this.ground?.view !== view) {
          const canvas = this.ground?.canvas ?? document.createElement("canvas");
          [canvas.width, canvas.height] = [context.canvas.width, context.canvas.height];
          const behind = canvas.getContext("2d");
          behind.setTransform(ratio, 0, 0, ratio, 0, 0);
          this.#land(behind);
          this.ground = { view, canvas };
        }
        context.drawImage(this.ground.canvas, 0, 0, width, height);
      } else this.#land(context);
      if (!this.sky.facts.has_day) return;
      const [east, north] = this.sky.sun(studio.time.t);
      this.#fill(context, d3.geoCircle().center([east + 180, -north]).radius(90)(), "night");
    }

    #land(context) {
      this.#fill(context, { type: "Sphere" }, "sea");
      this.#fill(context, this.land, "land");
      context.lineWidth = 0.5;
      context.strokeStyle = this.colour("grid");
      context.beginPath();
      d3.geoPath(this.projection, context)(d3.geoGraticule10());
      context.stroke();
    }

    #fill(context, shape, colour) {
      context.beginPath();
      d3.geoPath(this.projection, context)(shape);
      context.fillStyle = this.colour(colour);
      context.fill();
    }

    // Cells, darker with more satellites in view or with a longer delay.
    #coverage(context) {
      if (!this.cells) return;
      const { size, values, least, most } = this.cells;
      const across = Math.round(360 / size);
      const path = d3.geoPath(this.projection, context);
      context.fillStyle = this.colour("covered");
      values.forEach((value, index) => {
        if (value === null) return;
        const [south, west] = [Math.floor(index / across) * size - 90, (index % across) * size - 180];
        const [east, north] = [west + size, south + size];
        context.globalAlpha = FAINT + DEEP * (most > least ? (value - least) / (most - least) : 1);
        context.beginPath();
        const ring = [[west, south], [west, north], [east, north], [east, south], [west, south]];
        path({ type: "Polygon", coordinates: [ring] });
        context.fill();
      });
      context.globalAlpha = 1;
    }

    // What the colours of the cells mean.
    #legend(context, width, height) {
      if (!this.cells) return;
      const size = 12 * studio.letters;
      const step = 0.75 * size;
      context.font = `${size}px ${this.family}`;
      context.textBaseline = "middle";
      const [first, last] = this.cells.ends ?? ["no path", ""];
      const wide = (text) => context.measureText(text).width + 0.4 * size;
      // At the right, unless the sky plot is there.
      const isLeft = height < studio.skyplot.height * studio.letters + 2 * size;
      const left = isLeft ? wide(first) : width - wide(last) - LEGEND_STEPS * step;
      context.fillStyle = this.colour("covered");
      for (let number = 0; number < LEGEND_STEPS && last; number++) {
        context.globalAlpha = FAINT + (DEEP * (number + 1)) / LEGEND_STEPS;
        context.fillRect(left + number * step, size / 2, step, size);
      }
      context.globalAlpha = 1;
      context.fillStyle = this.colour("text");
      context.fillText(first, left - wide(first), size);
      context.fillText(last, left + LEGEND_STEPS * step + 0.4 * size, size);
    }

    #links(context) {
      const count = this.sky.constellations.reduce((sum, each) => sum + each.links.length / 2, 0);
      if (count > LINKS_MAX && (this.view.isMoving || studio.time.playing)) return;
      context.beginPath();
      for (const { links, first } of this.sky.constellations) {
        for (let index = 0; index < links.length; index += 2) {
          const [a, b] = [3 * (first + links[index]), 3 * (first + links[index + 1])];
          if (!this.points[a + 2] || !this.points[b + 2]) continue;
          context.moveTo(this.points[a], this.points[a + 1]);
          context.lineTo(this.points[b], this.points[b + 1]);
        }
      }
      context.lineWidth = 0.4;
      context.strokeStyle = this.colour("link");
      context.stroke();
    }

    #satellites(context, path) {
      const onPath = new Set(path?.nodes);
      this.sky.constellations.forEach(({ first, count }, index) => {
        const size = count > 200 ? 1.6 : 4;
        context.fillStyle = this.colour(`satellite-${index % 3}`);
        for (let node = first; node < first + count; node++) {
          if (!this.points[3 * node + 2] || onPath.has(node)) continue;
          context.fillRect(this.points[3 * node] - size / 2, this.points[3 * node + 1] - size / 2, size, size);
        }
      });
    }

    // The area that a serving satellite can serve.
    #footprints(context, path) {
      if (!path) return;
      const nodes = path.nodes.filter((node) => node < this.sky.count);
      const draw = d3.geoPath(this.projection, context);
      for (const node of new Set([nodes[0], nodes.at(-1)])) {
        if (node === undefined) continue;
        const [east, north] = this.sky.coordinates(node);
        context.beginPath();
        draw(d3.geoCircle().center([east, north]).radius(this.sky.footprint(node))());
        context.fillStyle = this.colour("footprint");
        context.fill();
        context.lineWidth = 1;
        context.strokeStyle = this.colour("path");
        context.stroke();
      }
    }

    #path(context, path) {
      if (!path?.nodes.length) return;
      context.lineWidth = 2;
      context.strokeStyle = this.colour("path");
      path.nodes.slice(1).forEach((node, index) => this.#segment(context, path.nodes[index], node));
      context.globalAlpha = 1;
      context.fillStyle = this.colour("path");
      for (const node of path.nodes) {
        if (node >= this.sky.count || !this.points[3 * node + 2]) continue;
        context.beginPath();
        context.arc(this.points[3 * node], this.points[3 * node + 1], 3.5, 0, 2 * Math.PI);
        context.fill();
      }
    }

    // A line between two nodes, faint where the Earth hides it.
    #segment(context, from, to) {
      const ends = [from, to].map((node) => {
        const position = this.sky.position(node);
        const share = this.#lifted(node) / Math.hypot(...position);
        return Array.from(position, (each) => each * share);
      });
      for (let piece = 0; piece < PIECES; piece++) {
        const [a, b, middle] = [piece, piece + 1, piece + 0.5].map((part) =>
          this.#project(...ends[0].map((each, axis) => each + (part / PIECES) * (ends[1][axis] - each))),
        );
        context.globalAlpha = middle[2] ? 1 : 0.2;
        context.beginPath();
        context.moveTo(a[0], a[1]);
        context.lineTo(b[0], b[1]);
        context.stroke();
      }
    }

    #names(context, width, height) {
      const labels = this.sky.facts.places.map((each, index) => [each.place, this.sky.count + index, true]);
      if (this.view.hover >= 0) labels.push([this.sky.name(this.view.hover), this.view.hover, false]);
      context.font = `600 ${12 * studio.letters}px ${this.family}`;
      context.textBaseline = "middle";
      context.lineWidth = 3;
      for (const [text, node, isPlace] of labels) {
        if (!this.points[3 * node + 2]) continue;
        const [x, y] = [this.points[3 * node], this.points[3 * node + 1]];
        if (isPlace) this.#mark(context, x, y);
        // At the edge of the picture, and at the sky plot, a name goes to the other side.
        const wide = context.measureText(text).width;
        const edge = this.plot.hidden ? width : studio.skyplot.edge(width, height, y);
        const isLeft = x + 10 + wide > edge || (x > width / 2 && x - 10 - wide > 0);
        const at = isLeft ? x - 9 - wide : x + 9;
        context.strokeStyle = this.colour("halo");
        context.strokeText(text, at, y);
        context.fillStyle = this.colour("text");
        context.fillText(text, at, y);
      }
    }

    #mark(context, x, y) {
      context.beginPath();
      context.arc(x, y, 4.5, 0, 2 * Math.PI);
      context.fillStyle = this.colour("halo");
      context.fill();
      context.save();
      context.lineWidth = 2;
      context.strokeStyle = this.colour("text");
      context.stroke();
      context.restore();
    }

    #tell(path) {
      const [from, to] = this.sky.ends(studio.time.flow) ?? [];
      const text = this.#sentence(path, from, to);
      if (this.line.textContent !== text) this.line.textContent = text;
      this.canvas.setAttribute("aria-label", `Globe: ${from} to ${to}, ${text}`);
    }

    #sentence(path, from, to) {
      if (!path?.nodes.length) return `No path from ${from} to ${to}`;
      const satellites = path.nodes.filter((node) => node < this.sky.count).length;
      const delay = 1000 * this.sky.delay(studio.time.flow, studio.time.t);
      const parts = [
        `${delay.toFixed(1)} ms one way`,
        `${satellites} ${satellites === 1 ? "satellite" : "satellites"}`,
        `${Math.round(this.sky.length(path.nodes)).toLocaleString("en")} km`,
      ];
      const isHigh = path.nodes.some((node) => node < this.sky.count && this.sky.coordinates(node)[2] > NEAR_KM);
      if (isHigh) parts.push(`heights above ${NEAR_KM.toLocaleString("en")} km are drawn shortened`);
      return parts.join(" · ");
    }

    // Numbers for tests.
    state() {
      const path = this.sky && this.sky.path(studio.time.flow, studio.time.t);
      const layer = { text: this.view.layer.text, legend: this.cells?.ends ?? null };
      return { layer, nodes: path?.nodes.length ?? 0, satellites: this.sky?.count ?? 0, line: this.line.textContent };
    }
  }

  let mounted = null;
  studio.globe = {
    mount: (element) => (mounted = new Globe(element)),
    draw: () => mounted?.draw(),
    state: () => mounted?.state() ?? null,
    svg: () => mounted?.svg() ?? null,
  };
})();
