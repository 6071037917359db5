// Nodes and links at the handle: rate, delay, what waits in the queue, which links are up, and the route of the flow.
"use strict";
(() => {
  const studio = globalThis.studio;
  const SVG = "http://www.w3.org/2000/svg";
  const NODE = { width: 108, height: 28 };
  const ACROSS = { along: 246, beside: 74 }; // Between nodes of a short network, from left to right.
  const DOWN = { along: 48, beside: 128 }; // Between those of a long one, from top to bottom.
  const COLUMNS_ACROSS = 4;
  const SCALE_MOST = 1.2;
  const SCALE_LEAST = 0.8; // By the size of letters. Smaller ones cannot be read; such a network is scrolled.
  const SCALE_WHOLE = 0.5; // For an audience, which does not scroll.
  const SKY_SHARE = 0.42; // Of the column of a network, with larger letters.
  const LABEL = 130; // Width of a label beside a node of a network from top to bottom.
  const LABELS_MAX = 8; // With more links only those of the route have labels; others have them as tooltips.
  const QUEUE = 34; // Length of a full queue.
  const ROWS_MAX = 12; // Nodes in a column; more are counted in the note.

  const make = (tag, attributes, parent, text) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };

  // The value of a profile at an instant.
  function valueAt({ times_s: times, values, linear, period_s: period }, t) {
    const at = period ? t % period : t;
    let last = times.length - 1;
    while (last > 0 && times[last] > at) last--;
    if (!linear || last + 1 >= times.length) return values[last];
    return values[last] + ((at - times[last]) / (times[last + 1] - times[last])) * (values[last + 1] - values[last]);
  }

  const within = (spans, t) => spans.some(([begin, end]) => begin <= t && (end === null || t < end));

  // Whether a link is there, and whether it is up; null where outages are random.
  function stateOf(link, t) {
    if (within(link.away_s, t)) return "away";
    const { outage } = link;
    if (!outage) return "up";
    if (!outage.spans_s) return "random";
    return within(outage.spans_s, outage.period_s ? t % outage.period_s : t) ? "down" : "up";
  }

  // The links of a flow's route at an instant, in both directions.
  function routeOf(flow, t) {
    let [there, back] = [flow.route, flow.reverse_route];
    for (const later of flow.routes_later) if (later.time_s <= t) there = later.route;
    for (const later of flow.reverse_routes_later) if (later.time_s <= t) back = later.route;
    return { there: there ?? [], back: back ?? [] };
  }

  // The flow or subflow, and the ways that it takes: one, or those of its subflows.
  function waysOf(network, name) {
    const all = [...network.flows, ...(network.subflows ?? [])];
    const flow = all.find((each) => each.flow === name) ?? network.flows[0];
    const parts = all.filter((each) => flow && each.subflow_of === flow.flow);
    return { flow, ways: parts.length ? parts : [flow].filter(Boolean) };
  }

  // A quantity with three digits.
  function short(value, unit) {
    const [number, name] = studio.format.quantity(value, unit).split(" ");
    return `${Number(Number(number).toPrecision(3))} ${name}`;
  }

  // The column of each node: links from the begin of the flows.
  function columnsOf(network, links) {
    const column = new Map();
    let front = [...new Set(network.flows.map((each) => each.from))];
    front.forEach((node) => column.set(node, 0));
    const ends = new Set(network.flows.map((each) => each.to));
    while (front.length) {
      const next = [];
      for (const { from, to } of links) {
        if (!front.includes(from) || column.has(to)) continue;
        column.set(to, column.get(from) + 1);
        next.push(to);
      }
      front = next;
    }
    const last = Math.max(0, ...column.values());
    for (const node of ends) if (!column.has(node)) column.set(node, last + 1);
    return column;
  }

  // Place in a column of a drawing that is scrolled: the first nodes are in the middle.
  function fromMiddle(row, count) {
    return Math.floor((count - 1) / 2) + (row % 2 ? (row + 1) / 2 : -row / 2);
  }

  // Width and height of a network of so many columns and rows.
  /** @returns {[number, number]} */
  function sizeOf(isDown, long, wide, hasAllLabels) {
    const gap = isDown ? DOWN : ACROSS;
    const [along, beside] = [(long - 1) * gap.along, (wide - 1) * gap.beside];
    // Labels of a route alone are near the middle.
    const label = hasAllLabels ? LABEL : Math.max(8, LABEL - beside / 2);
    const [width, height] = isDown ? [beside + NODE.width + label, along] : [along + NODE.width + 8, beside];
    return [width, height + NODE.height + 26];
  }

  class Topology {
    constructor(element) {
      this.element = element;
      element.classList.add("topology");
      this.stage = element.appendChild(document.createElement("div"));
      this.stage.className = "topology-stage";
      this.svg = make("svg", { role: "img" }, this.stage);
      this.note = element.appendChild(document.createElement("p"));
      this.queues = {};
      studio.time.on((_, changed) => this.#follow(changed));
      new ResizeObserver(() => this.draw()).observe(element);
      this.#open();
    }

    async #open() {
      const run = studio.time.run;
      this.run = run;
      if (!run) {
        this.network = null;
        this.svg.replaceChildren();
        this.note.textContent = "";
        return;
      }
      try {
        const network = await studio.source.network(run);
        if (this.run !== run) return;
        this.network = network;
        this.limits = {};
        this.draw();
        this.#rest();
      } catch (error) {
        this.note.textContent = String(error.message ?? error);
      }
    }

    #follow(changed) {
      if (changed.has("run") && studio.time.run !== this.run) return this.#open();
      if (!this.network || !(changed.has("t") || changed.has("flow"))) return;
      this.queues = {};
      this.draw();
      clearTimeout(this.later);
      this.later = setTimeout(() => this.#rest(), 250);
    }

    // What waits at the links, where the handle rests.
    async #rest() {
      const [run, t] = [this.run, studio.time.t];
      try {
        const values = (await studio.source.at(run, t)).queue_bytes ?? {};
        if (run !== this.run || t !== studio.time.t) return;
        this.queues = values;
        this.draw();
      } catch {
        // A scenario that has not been run has no queues, and a single file has no exact values.
      }
    }

    draw() {
      const { network } = this;
      // Behind another tab it has no size. It is drawn when it gets one.
      if (!network || !this.element.clientWidth) return;
      const t = studio.time.t;
      const { flow, ways } = waysOf(network, studio.time.flow);
      const routes = ways.map((way) => ({ way, ...routeOf(way, t) }));
      const route = new Set(routes.flatMap(({ there, back }) => [...there, ...back]));
      // Paths have the colours of their curves.
      this.colours = new Map();
      for (const { way, there, back } of routes) {
        const colour = way.subflow_of && studio.plots?.colourOf(way.flow);
        if (colour) [...there, ...back].forEach((link) => this.colours.set(link, colour));
      }
      const links = network.links.filter((each) => stateOf(each, t) !== "away");
      const places = this.#places(links, route);
      this.svg.replaceChildren();
      const pairs = new Map();
      for (const link of links) {
        if (!places.has(link.from) || !places.has(link.to)) continue;
        const key = [link.from, link.to].sort().join("\0") + link.link.replace(/\.(forward|reverse)$/, "");
        pairs.set(key, [...(pairs.get(key) ?? []), link]);
      }
      const lines = make("g", {}, this.svg);
      const isOn = (pair) => pair.some((each) => route.has(each.link));
      // The route is drawn last, over the other links.
      for (const pair of [...pairs.values()].sort((a, b) => isOn(a) - isOn(b))) {
        this.#link(lines, pair, places, isOn(pair), isOn(pair) || pairs.size <= LABELS_MAX, t);
      }
      for (const node of network.nodes) if (places.has(node.node)) this.#node(node, places.get(node.node));
      this.#tell(flow, routes, links, places, t);
    }

    // Where each node is drawn: nodes that are linked now, those of the route first.
    #places(links, route) {
      const column = columnsOf(this.network, links);
      const onRoute = new Set(links.filter((each) => route.has(each.link)).flatMap((each) => [each.from, each.to]));
      const rows = new Map();
      const places = new Map();
      this.left = 0;
      const nodes = [...column.keys()].sort((a, b) => Number(onRoute.has(b)) - Number(onRoute.has(a)));
      for (const node of nodes) {
        const x = column.get(node);
        const y = rows.get(x) ?? 0;
        rows.set(x, y + 1);
        if (y >= ROWS_MAX) this.left++;
        else places.set(node, { column: x, row: y });
      }
      const long = Math.max(0, ...column.values()) + 1;
      const wide = Math.min(ROWS_MAX, Math.max(1, ...rows.values()));
      // Both directions of a link have one label.
      const hasAllLabels = links.length <= 2 * LABELS_MAX;
      const [across, down] = [false, true].map((isDown) => sizeOf(isDown, long, wide, hasAllLabels));
      const isTall = this.#markTall(long > COLUMNS_ACROSS ? [down] : [across, down]);
      this.isDown = long > COLUMNS_ACROSS || this.#scale(across) < this.#scale(down);
      const gap = this.isDown ? DOWN : ACROSS;
      const [width, height] = this.isDown ? down : across;
      const fitting = this.#scale([width, height]);
      const scale = Math.max(isTall ? SCALE_WHOLE : studio.letters * SCALE_LEAST, fitting);
      this.isCut = scale > fitting;
      for (const place of places.values()) {
        const inColumn = Math.min(ROWS_MAX, rows.get(place.column));
        const row = this.isCut ? fromMiddle(place.row, inColumn) : place.row;
        const [along, beside] = [place.column * gap.along, (row + (wide - inColumn) / 2) * gap.beside];
        [place.x, place.y] = this.isDown ? [beside, along] : [along, beside];
        place.x += NODE.width / 2 + 4;
        place.y += NODE.height / 2 + 12;
      }
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      Object.assign(this.svg.style, { width: `${scale * width}px`, height: `${scale * height}px` });
      this.#toMiddle([this.run, studio.time.flow, width, this.element.clientWidth].join());
      return places;
    }

    // The route is in the middle of a drawing that is scrolled. Readers who scroll it stay where they are.
    #toMiddle(seen) {
      this.isCut ? this.stage.setAttribute("tabindex", "0") : this.stage.removeAttribute("tabindex");
      if (!this.isCut || seen === this.seen) return;
      this.seen = seen;
      const { stage } = this;
      stage.scrollLeft = (stage.scrollWidth - stage.clientWidth) / 2;
      stage.scrollTop = (stage.scrollHeight - stage.clientHeight) / 2;
    }

    // Whether a network is too large for an audience. It then gets most of the column. The column has a fixed size, so
    // this does not depend on the share that the network has now.
    #markTall(sizes) {
      const column = this.element.closest(".page-right");
      if (!column) return false;
      const place = { clientWidth: this.element.clientWidth, clientHeight: SKY_SHARE * column.clientHeight };
      const most = Math.max(...sizes.map((size) => this.#scale(size, place)));
      const isTall = studio.letters > 1 && most < studio.letters * SCALE_LEAST;
      column.classList.toggle("is-tall", isTall);
      return isTall;
    }

    // How large a drawing can be in a place.
    #scale([width, height], { clientWidth, clientHeight } = this.element) {
      return Math.min(studio.letters * SCALE_MOST, (clientWidth - 16) / width, (clientHeight - 32 * studio.letters) / height);
    }

    #node({ node, middleboxes }, { x, y }) {
      const group = make("g", { class: "topology-node" }, this.svg);
      make("rect", { x: x - NODE.width / 2, y: y - NODE.height / 2, width: NODE.width, height: NODE.height, rx: 6 }, group);
      const text = node.length > 16 ? `${node.slice(0, 6)}…${node.slice(-8)}` : node;
      make("text", { x, y: y + 4, class: "topology-name" }, group, text);
      make("title", {}, group, middleboxes.length ? `${node}: ${middleboxes.join(", ")}` : node);
      if (middleboxes.length) make("text", { x, y: y + NODE.height / 2 + 11, class: "topology-label" }, group, middleboxes.join(", "));
    }

    // One line for both directions, with the delay and both rates.
    #link(parent, pair, places, isOn, hasLabel, t) {
      const [a, b] = [places.get(pair[0].from), places.get(pair[0].to)];
      const isDown = pair.some((each) => stateOf(each, t) === "down");
      const group = make("g", { class: `topology-link${isOn ? " is-on" : ""}${isDown ? " is-down" : ""}` }, parent);
      const [from, to] = this.#ends(a, b);
      const line = make("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, group);
      const colour = pair.map((each) => this.colours.get(each.link)).find(Boolean);
      if (colour && !isDown) line.style.stroke = `var(--studio-${colour})`;
      make("title", {}, group, pair.map((link) => this.#words(link, t)).join("\n"));
      pair.forEach((link, index) => {
        const waits = this.queues[link.link];
        if (waits > 0) this.#queue(group, link, waits, index ? to : from, index ? from : to);
      });
      if (!hasLabel) return;
      const [x, y] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
      const lines = this.#labels(pair, t);
      if (this.isDown) return void make("text", { x: x + 8, y: y + 3, class: "topology-label is-beside" }, group, lines.join(" · "));
      make("text", { x, y: y - 5, class: "topology-label" }, group, lines[0]);
      make("text", { x, y: y + 12, class: "topology-label" }, group, lines.slice(1).join(" "));
    }

    // Where a line leaves one node and reaches the other.
    #ends(a, b) {
      if (a.column === b.column) return [[a.x, a.y], [b.x, b.y]];
      const side = a.column < b.column ? 1 : -1;
      const [x, y] = this.isDown ? [0, (side * NODE.height) / 2] : [(side * NODE.width) / 2, 0];
      return [[a.x + x, a.y + y], [b.x - x, b.y - y]];
    }

    // The delay, and the rate of each direction where they differ.
    #labels(pair, t) {
      const [delays, rates] = [pair.map((each) => short(valueAt(each.delay_s, t), "s")), pair.map((each) => short(valueAt(each.rate_bps, t), "bit/s"))];
      const isEven = rates.length < 2 || rates[0] === rates[1];
      return [[...new Set(delays)].join(" / "), ...(isEven ? [rates[0]] : [`${rates[0]} →`, `← ${rates[1]}`])];
    }

    // What waits, as a bar at the begin of the link; full is the most that waited where the handle rested.
    #queue(group, link, waits, from, to) {
      const most = (this.limits[link.link] = Math.max(this.limits[link.link] ?? 0, waits));
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
      const part = (share) => [0, 1].map((axis) => from[axis] + (share / length) * (to[axis] - from[axis]));
      const bar = (end, className) => make("line", { x1: from[0], y1: from[1], x2: end[0], y2: end[1], class: className }, group);
      bar(part(QUEUE), "topology-room");
      make("title", {}, bar(part(QUEUE * (waits / most)), "topology-queue"), this.#words(link, studio.time.t));
    }

    #words(link, t) {
      const waits = this.queues[link.link];
      const parts = [
        `${link.link}: ${studio.format.quantity(valueAt(link.rate_bps, t), "bit/s")}`,
        studio.format.quantity(valueAt(link.delay_s, t), "s"),
        { up: "up", down: "down", random: "outages at random" }[stateOf(link, t)],
      ];
      if (waits !== undefined) parts.push(`${studio.format.quantity(waits, "B")} in the queue`);
      return parts.join(", ");
    }

    #tell(flow, routes, links, places, t) {
      const down = links.filter((each) => stateOf(each, t) === "down").map((each) => each.link);
      const slowest = ({ there }) => {
        const rates = links.filter((each) => there.includes(each.link)).map((each) => valueAt(each.rate_bps, t));
        return rates.length ? `${short(Math.min(...rates), "bit/s")} at the slowest link` : null;
      };
      const parts = [];
      if (flow && routes.length === 1) {
        const words = slowest(routes[0]);
        parts.push(words ? `${flow.flow}: ${flow.from} to ${flow.to}, ${words}.` : `${flow.flow} has no route now.`);
      } else if (flow) {
        const each = routes.map((route) => `${route.way.flow.slice(flow.flow.length + 1)} ${slowest(route) ?? "without a route now"}`);
        parts.push(`${flow.flow}: ${flow.from} to ${flow.to} over ${routes.length} paths, ${each.join("; ")}.`);
      }
      if (down.length) parts.push(`Down: ${down.join(", ")}.`);
      if (this.left) parts.push(`${this.left} more nodes are not drawn.`);
      if (this.isCut) parts.push("Scroll the drawing to see all of it.");
      this.note.textContent = parts.join(" ");
      this.svg.setAttribute("aria-label", `Network of ${places.size} nodes. ${this.note.textContent}`);
    }

    // Numbers for tests.
    state() {
      return { nodes: this.svg.querySelectorAll(".topology-node").length, links: this.svg.querySelectorAll(".topology-link").length, colours: Object.fromEntries(this.colours ?? []) };
    }
  }

  let mounted = null;
  studio.topology = {
    mount: (element) => (mounted = new Topology(element)),
    draw: () => mounted?.draw(),
    state: () => mounted?.state() ?? null,
  };
})();
