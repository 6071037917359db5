// The plots of a run: which panels there are, whose curves they have, and when their points are asked for.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element, palette } = studio;
  const CURVES_MOST = 8;
  const IDLE = 0.05; // Share of the window.
  const ADAPTED_MOST = 3; // Links whose MODCODs are drawn without a choice.
  const LISTED_MOST = 100; // Names in a list of choices.
  const SEARCHED = 12; // Names above which a list can be searched.
  const NAMED_MOST = 3; // Handovers in sight that have their names.
  const WIDTHS = { level: 1, state: 2, rate: 2, count: 4 }; // Pixels of a column, at least.
  const PANELS = [
    { id: "spread", title: "Goodput of all flows", fromZero: true, names: [] }, // Of a run with many flows.
    { id: "heat", title: "Goodput, a row for each flow", names: [] },
    { id: "goodput", title: "Goodput", fromZero: true, names: ["goodput_bps", "route_rate_bps"], cap: ["route_rate_bps", 1.3] },
    { id: "window", title: "Window", fromZero: true, names: ["cwnd_bytes", "ssthresh_bytes"] },
    { id: "state", title: "State of the congestion control", names: ["cc_state"] },
    { id: "packets", title: "Time and sequence", names: [] },
    { id: "srtt", title: "Round trip (SRTT)", names: ["srtt_s"] },
    { id: "queue", title: "Queue of the route", fromZero: true, names: ["route_queue_bytes"] },
    { id: "links", title: "Queues of links", fromZero: true, names: ["queue_bytes"] }, // Of links that the reader chose.
    { id: "rate", title: "Rate of the link", fromZero: true, names: ["link_rate_bps"] }, // Only where it changes: rain, passes.
    { id: "grants", title: "Grants", fromZero: true, names: ["granted_bps", "requested_bps"] }, // Of links in a medium.
    { id: "modcod", title: "MODCOD", names: ["modcod"] },
    { id: "losses", title: "Losses", fromZero: true, names: [] },
  ];
  // Dashed, and without a say in the range of the axis.
  const ASIDE = { ssthresh_bytes: "ssthresh", requested_bps: "requested", route_rate_bps: "rate of the route" };

  let host = null;
  let meta = null;
  let pinned = []; // The pinned runs: names and facts, but for the shown run.
  let panels = [];
  let added = [];
  let flows = [];
  let links = [];
  let areLinksChosen = false;
  let lossesAreOf = null;
  let asked = 0;
  let atRest = null;
  let shown = []; // The run and the pinned run of `meta` and `pinned`.

  // While another run is chosen and its facts are on their way, nothing is asked of it with the old facts.
  const isStale = () => !meta || shown[0] !== studio.time.run || shown[1] !== studio.time.pin;

  function mount(place) {
    host = {
      bar: element("div", { class: "studio-pickers" }),
      error: element("p", { class: "studio-error", role: "status" }),
      pins: element("div", { class: "studio-pins", hidden: true }),
      list: element("div", { class: "studio-panels" }),
    };
    place.classList.add("studio-plots");
    place.replaceChildren(host.bar, host.error, host.pins, host.list);
    studio.pins.mount(host.pins);
    studio.flows.onChoose((flow) => meta?.flows.includes(flow) && studio.time.set({ flow }));
    document.addEventListener("studio-error", (/** @type {CustomEvent} */ event) => (host.error.textContent = event.detail));
    new ResizeObserver(() => (panels.forEach((panel) => panel.resize()), studio.atRest("resize", load))).observe(host.list);
    palette.onRepaint(() => panels.forEach((panel) => panel.redraw()));
    studio.time.on(follow);
    if (studio.time.run) studio.pending(open());
  }

  function follow(state, names) {
    if (["run", "pin", "from", "to"].some((name) => names.has(name))) host.error.textContent = "";
    if (names.has("run") || names.has("pin")) studio.pending(open());
    else if (names.has("flow") && meta && state.flow !== lossesAreOf) studio.pending(change());
    else if (names.has("from") || names.has("to")) studio.pending(load());
    if (names.has("t") || names.has("from") || names.has("to")) move();
  }

  async function open() {
    const { run, pin } = studio.time;
    const names = (pin ?? "").split(",").filter((name) => name && name !== run);
    const [found, ...others] = await Promise.all([run, ...names].map((name) => (name ? studio.source.meta(name) : null)));
    const there = names.map((name, index) => ({ run: name, meta: others[index] }));
    await studio.pins.name(found, there);
    if (run !== studio.time.run || pin !== studio.time.pin) return;
    [meta, pinned, shown] = [found, there, [run, pin]];
    if (!meta || !meta.series.length) return clear();
    const known = flows.filter((flow) => meta.flows.includes(flow));
    const first = meta.flows.includes(studio.time.flow) ? studio.time.flow : meta.flows[0];
    flows = known.length ? known : meta.flows.slice(0, Math.min(4, CURVES_MOST));
    if (!flows.includes(first)) flows[0] = first;
    links = links.filter((link) => meta.links.includes(link));
    areLinksChosen = areLinksChosen && links.length > 0;
    if (!links.length) links = [...new Set([meta.busiest, Object.keys(meta.terminals ?? {}).find((link) => meta.links.includes(link))])].filter(Boolean);
    studio.time.set({ duration: meta.duration_s, flow: first });
    lossesAreOf = first;
    pickers();
    await rebuild();
  }

  // A scenario that has not been run has a length, and no series.
  function clear() {
    panels.forEach((panel) => panel.destroy());
    panels = [];
    host.bar.replaceChildren();
    host.pins.hidden = true;
    host.list.replaceChildren(element("p", { class: "studio-empty" }, meta ? "Not run yet: Run draws its curves." : ""));
    // Which flow is worth asking about is known after the run.
    if (meta) studio.time.set({ duration: meta.duration_s, flow: meta.flows.includes(studio.time.flow) ? studio.time.flow : null });
    meta = null;
  }

  async function choose(newFlows, newLinks) {
    [flows, links] = [newFlows.slice(0, CURVES_MOST), newLinks.slice(0, CURVES_MOST)];
    await studio.pending(rebuild());
  }

  // Another flow has other losses. Its curves are shown, too.
  function change() {
    if (flows.includes(studio.time.flow)) return rebuild();
    return choose([studio.time.flow, ...flows], links).then(pickers);
  }

  function wanted() {
    const extra = added.map((name) => ({ id: name, title: titled(name), names: [name], fromZero: !name.endsWith("_s"), onRemove: () => add(name, false) }));
    const events = meta.series.filter((each) => each.kind === "count").map((each) => each.name);
    const painted = { losses: { names: events, painter: studio.losses }, packets: { painter: studio.packets }, state: { painter: studio.states }, spread: { painter: studio.flows.spread }, heat: { painter: studio.flows.heat } };
    return [...PANELS, ...extra]
      .map((about) => ({ ...about, ...painted[about.id] }))
      .filter((about) => about.id !== "links" || areLinksChosen)
      .filter((about) => about.id !== "modcod" || linksOf("modcod").length)
      .filter((about) => !["spread", "heat"].includes(about.id) || studio.flows.isOn(meta))
      .filter((about) => ["packets", "spread", "heat"].includes(about.id) || about.names.some((name) => meta.series.some((each) => each.name === name)));
  }

  const titled = (name) => name.replace(/_(bps|bytes|s|packets)$/, "").replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());

  function add(name, isThere = true) {
    added = isThere ? [...added.filter((each) => each !== name), name] : added.filter((each) => each !== name);
    pickers();
    studio.pending(rebuild());
  }

  async function rebuild() {
    lossesAreOf = studio.time.flow;
    panels.forEach((panel) => panel.destroy());
    panels = wanted().map((about) => studio.panel.make(about, bands));
    panels.forEach((panel, index) => (panel.isLast = index === panels.length - 1));
    host.list.replaceChildren(...panels.map((panel) => panel.box));
    for (const panel of panels) panel.set(curvesOf(panel.about));
    studio.topology?.draw();
    await load();
    move();
  }

  function curvesOf(about) {
    return about.names.flatMap((name) => {
      const described = meta.series.find((each) => each.name === name);
      if (!described) return [];
      if (described.kind === "count") return lossesOf(described);
      // Links outside a medium have no grants.
      const known = linksOf(about.id);
      return (described.of === "flow" ? flows : known).map((of) => {
        const index = (described.of === "flow" ? flows : known).indexOf(of);
        const isAside = name in ASIDE;
        const isReference = name === "route_rate_bps";
        const colour = isReference ? "soft" : described.of === "flow" ? colourOf(of) : palette.LINKS[index % CURVES_MOST];
        const label = isAside ? ASIDE[name] : of;
        const names = described.states ?? described.names?.[meta.terminals[of]];
        const dash = isReference ? [1.5, 3] : isAside ? [6, 4] : palette.DASHES[index % CURVES_MOST];
        const curve = studio.curves.make(described, of, { names, colour, label, isAside, isReference, dash });
        if (!isAside && !about.painter) curve.behind = pinned.flatMap((each, place) => (has(each.meta, described, of) ? [behind(described, of, each, place)] : []));
        return curve;
      });
    });
  }

  const has = (facts, { name, of: entity }, of) => facts[`${entity}s`].includes(of) && facts.series.some((each) => each.name === name);

  function behind(described, of, { run, meta: facts, name }, place) {
    const colour = described.of === "flow" && areBySender() && facts.senders[of] !== meta.senders[of] ? palette.SENDERS[facts.senders[of]] : "behind";
    return studio.curves.make(described, of, { isBehind: true, run, colour, label: name, duration: facts.duration_s, dash: palette.PINNED[place] });
  }

  // A colour belongs to a congestion control if these tell the flows of each run apart, else to the place in the list.
  function areBySender() {
    return [meta, ...pinned.map((each) => each.meta)].every((facts) => {
      const senders = flows.filter((flow) => facts.flows.includes(flow)).map((flow) => palette.SENDERS[facts.senders?.[flow]]);
      return senders.every(Boolean) && new Set(senders).size === senders.length;
    });
  }

  // Links outside a medium have no grants. Of MODCODs, those that change matter, as in figures.
  function linksOf(panel) {
    if (panel === "modcod" && !areLinksChosen && meta.adapted) return meta.adapted.filter((link) => meta.links.includes(link)).slice(0, ADAPTED_MOST);
    return ["grants", "modcod"].includes(panel) ? links.filter((link) => link in (meta.terminals ?? {})) : links;
  }

  // The losses of the chosen flow alone: causes have the colours.
  function lossesOf(described) {
    return [studio.curves.make(described, studio.time.flow, studio.curves.cause(described.name))];
  }

  async function load() {
    if (isStale() || !panels.length) return;
    const token = (asked += 1);
    const { run, from, to } = studio.time;
    show();
    const packets = studio.packets.load(meta);
    panels.forEach((panel) => panel.draw());
    const window = { from, to, columns: Math.max(50, Math.min(4000, panels[0].width())) };
    const jobs = panels.flatMap((panel) => {
      return panel.curves.flatMap((curve) => {
        const asked = { ...window, columns: Math.ceil(window.columns / WIDTHS[curve.kind]) };
        return [fetched(run, curve, asked), ...curve.behind.map((each) => fetched(each.run, each, asked, each.duration))];
      });
    });
    const found = await Promise.all([...jobs, packets, studio.pins.load(window), studio.flows.load(meta, window)]);
    found.splice(-3);
    if (token !== asked) return;
    for (const [curve, points] of found) curve.points = points;
    panels.forEach((panel) => panel.hide((curve) => isIdle(curve, panel.curves)));
    panels.forEach((panel) => panel.draw());
    move();
  }

  // A threshold far below its window, as that of BBR, which does not use it, is no information.
  function isIdle(curve, curves) {
    if (curve.name !== "ssthresh_bytes") return false;
    const window = curves.find((each) => each.name === "cwnd_bytes" && each.of === curve.of);
    return Boolean(window) && studio.curves.extent([curve])[1] < IDLE * studio.curves.extent([window])[1];
  }

  // Below two round trips single packets can be told apart.
  function show() {
    const isOn = studio.packets.isOn(meta);
    for (const panel of panels) {
      if (panel.about.id === "packets") panel.show(isOn);
      if (panel.about.id === "window") panel.show(!isOn);
    }
    panels.forEach((panel) => panel.resize());
  }

  async function fetched(run, curve, window, latest = studio.time.duration) {
    const asked = { name: curve.name, of: curve.of, ...window, to: Math.min(window.to, latest) };
    const none = new Float32Array(0);
    const nothing = { begins: new Float64Array(0), values: none, least: none, greatest: none, width: 0, end: 0 };
    if (!(asked.to > asked.from)) return [curve, nothing];
    try {
      return [curve, await studio.source.series(run, asked)];
    } catch (error) {
      // One curve that fails must not take the others with it.
      studio.report(error);
      return [curve, nothing];
    }
  }

  function move() {
    panels.forEach((panel) => panel.place());
    const isKnown = atRest && atRest.t === studio.time.t && atRest.run === studio.time.run;
    panels.forEach((panel) => panel.values(isKnown ? atRest.values : null));
    studio.pins.move(panels);
    if (!isKnown && studio.source.isLive && !isStale() && !studio.time.playing) studio.atRest("exact", exact);
  }

  async function exact() {
    if (isStale()) return;
    const { run, t } = studio.time;
    const values = await studio.source.at(run, t);
    atRest = { run, t, values };
    if (t === studio.time.t && run === studio.time.run) panels.forEach((panel) => panel.values(values));
  }

  // Handovers are lines with a triangle, outages are hatched, and other changes of the path are ticks below the axis.
  function bands(plot) {
    if (!meta) return;
    const { ctx, bbox } = plot;
    const scale = devicePixelRatio;
    const there = meta.happenings.filter(({ time_s, numbers }) => time_s + (numbers.duration_s || 0) >= studio.time.from && time_s <= studio.time.to);
    const handovers = there.filter(({ kind }) => kind === "handover");
    ctx.save();
    for (const { time_s, kind, numbers } of there) {
      const [left, right] = [time_s, time_s + (numbers.duration_s || 0)].map((t) => Math.min(Math.max(plot.valToPos(t, "x", true), bbox.left), bbox.left + bbox.width));
      ctx.fillStyle = ctx.strokeStyle = palette.colour(kind);
      if (kind === "outage") hatch(ctx, left, bbox.top, Math.max(right - left, 3 * scale), bbox.height, scale);
      else if (kind === "change") ctx.fillRect(left, bbox.top + bbox.height, scale, 4 * scale);
      else if (kind === "handover") arrow(ctx, left, bbox, scale);
    }
    const isZoomed = studio.time.to - studio.time.from < studio.time.duration;
    if (isZoomed && handovers.length <= NAMED_MOST && panels[0]?.plot === plot) handovers.forEach((each) => label(ctx, each, plot.valToPos(each.time_s, "x", true), bbox, scale));
    ctx.restore();
  }

  function hatch(ctx, left, top, width, height, scale) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.lineWidth = scale;
    ctx.beginPath();
    for (let at = left - height; at < left + width; at += 6 * scale) {
      ctx.moveTo(at, top + height);
      ctx.lineTo(at + height, top);
    }
    ctx.stroke();
    ctx.restore();
  }

  function arrow(ctx, at, bbox, scale) {
    ctx.fillRect(at - 0.75 * scale, bbox.top, 1.5 * scale, bbox.height);
    ctx.beginPath();
    ctx.moveTo(at - 4 * scale, bbox.top);
    ctx.lineTo(at + 4 * scale, bbox.top);
    ctx.lineTo(at, bbox.top + 7 * scale);
    ctx.fill();
  }

  // What hands over to what, if there is room.
  function label(ctx, { text }, at, bbox, scale) {
    ctx.font = `${10 * studio.letters * scale}px ${getComputedStyle(host.list).fontFamily}`;
    ctx.fillStyle = palette.colour("handover");
    ctx.textBaseline = "top";
    const words = text.replace(/^handover: /, "").slice(0, 48);
    const isLeft = at + ctx.measureText(words).width + 8 * scale > bbox.left + bbox.width;
    ctx.textAlign = isLeft ? "right" : "left";
    ctx.fillText(words, at + (isLeft ? -6 : 6) * scale, bbox.top + 14 * scale);
  }

  function pickers() {
    const rest_ = meta.series.filter((each) => each.kind !== "count" && !PANELS.some((about) => about.names.includes(each.name)) && !added.includes(each.name));
    const more = element("select", { "aria-label": "Add a series", onchange: (event) => event.target.value && add(event.target.value) }, element("option", { value: "" }, "Add a series …"), ...rest_.map((each) => element("option", { value: each.name, title: each.meaning }, titled(each.name))));
    host.bar.replaceChildren(
      picker("Flows", meta.flows, flows, (names) => choose(names, links), studio.flows.isOn(meta)),
      picker("Links", meta.links, links, (names) => ((areLinksChosen = true), choose(flows, names))),
      ...(rest_.length ? [more] : []),
      ...(studio.source.packets ? [element("button", { type: "button", class: "studio-quiet", onclick: () => studio.packets.zoom(meta), title: "Zoom to two round trips at the handle: the window becomes a time-sequence diagram" }, "Packets")] : []),
      element("button", { type: "button", class: "studio-quiet", onclick: () => studio.time.set({ from: null, to: null }), title: "A double click in a plot does the same" }, "Whole run"),
    );
  }

  // With many names, a field searches them, and the chosen ones come first.
  function picker(title, names, chosen, then, hasOrders = false) {
    let now = [...chosen];
    const summary = element("summary", {}, `${title}: ${now.length} of ${names.length}`);
    const list = element("div", { class: "studio-names" });
    const search = element("input", { type: "search", placeholder: "Search", "aria-label": `Search ${title.toLowerCase()}`, oninput: () => fill() });
    const more = element("small", {});

    function box(name) {
      const made = element("input", { type: "checkbox", value: name, checked: now.includes(name) });
      made.addEventListener("change", () => {
        const next = made.checked ? [...now, name] : now.filter((each) => each !== name);
        if (!next.length || next.length > CURVES_MOST) return void (made.checked = !made.checked);
        now = next;
        summary.textContent = `${title}: ${now.length} of ${names.length}`;
        then(names.filter((each) => now.includes(each)));
      });
      return element("label", {}, made, name);
    }

    function fill() {
      const wanted = search.value.trim().toLowerCase();
      const ordered = hasOrders ? studio.flows.sorted(names) : names;
      const others = ordered.filter((name) => !now.includes(name) && name.toLowerCase().includes(wanted));
      const first = names.length > LISTED_MOST ? now : [];
      const shown = names.length > LISTED_MOST ? others.slice(0, LISTED_MOST) : ordered.filter((name) => name.toLowerCase().includes(wanted));
      list.replaceChildren(...[...first, ...shown].map(box));
      const rest = others.length - shown.length;
      more.textContent = `At most ${CURVES_MOST}.${names.length > LISTED_MOST && rest > 0 ? ` ${rest} more: search for them.` : ""}`;
    }

    const orders = hasOrders && studio.source.isLive ? studio.flows.orders(() => load().then(fill)) : null;
    const details = element("details", { class: "studio-picker" }, summary, element("div", { class: "studio-choices" }, orders, names.length > SEARCHED ? search : null, list, more));
    details.addEventListener("toggle", () => details.open && fill());
    details.addEventListener("keydown", (event) => event.key === "Escape" && (details.open = false));
    fill();
    return details;
  }

  // The letters of axes have another size.
  function dress() {
    for (const panel of panels) panel.set(panel.curves);
    panels.forEach((panel) => (panel.resize(), panel.draw()));
    move();
  }

  // The colour of the curves of a flow; null: it has none.
  function colourOf(flow) {
    if (!flows.includes(flow)) return null;
    return meta && areBySender() ? palette.SENDERS[meta.senders[flow]] : palette.CURVES[flows.indexOf(flow) % CURVES_MOST];
  }

  studio.plots = { mount, dress, add, choose, colourOf, flows: () => flows, panels: () => panels, report: () => panels.map((panel) => panel.report()) };
})();
