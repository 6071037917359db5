// Why the flow is where it is at the handle, and where its time went.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const COLOURS = { "link-busy": "blue", "path-not-filled": "sky", "path-free": "sky", recovery: "vermilion", silence: "purple", "sender-limited": "soft", "receiver-limited": "orange" };
  const WORDS = { "link-busy": "link in use", "path-not-filled": "path not filled", "path-free": "link free", recovery: "recovery", silence: "silence", "sender-limited": "sender limited", "receiver-limited": "receiver limited" };
  // Parts of the delay of a link in a medium, in the order in which a packet has them.
  const ACCESS = { asking: ["vermilion", "asking"], behind: ["orange", "behind other packets"], turn: ["sky", "until its turn"], sending: ["green", "sending"], air: ["blue", "in the air"] };
  let parts = null;
  let meta = null;
  let shown = null; // The run of `meta`.
  let told = null;
  let spent = null;
  let isOtherWindow = false;

  function mount(place) {
    const flow = element("select", { "aria-label": "Flow", onchange: (event) => studio.time.set({ flow: event.target.value }) });
    const list = element("ol", { class: "studio-sentences", "aria-live": "polite" });
    const title = element("h2", {});
    const bar = element("div", { class: "studio-spent" });
    const keys = element("ul", { class: "studio-legend" });
    const access = element("section", { class: "studio-access", hidden: true });
    parts = { flow, list, title, bar, keys, access };
    place.classList.add("studio-why");
    place.replaceChildren(element("div", { class: "studio-head" }, element("h2", {}, "Why, at this moment"), flow), list, title, bar, keys, access);
    studio.time.on(follow);
    if (studio.time.run) studio.pending(open());
  }

  function follow(_, names) {
    if (names.has("run")) return void studio.pending(open());
    if (names.has("flow")) [parts.flow.value, told] = [studio.time.flow, null];
    if (names.has("flow") || ((names.has("from") || names.has("to")) && studio.source.isLive)) later(true);
    else if (names.has("t") || names.has("playing")) later(false);
  }

  async function open() {
    const run = studio.time.run;
    const found = run ? await studio.source.meta(run) : null;
    if (run !== studio.time.run) return;
    [meta, shown, told, spent] = [found && found.series.length ? found : null, run, null, null];
    if (!meta) return clear();
    const flow = meta.flows.includes(studio.time.flow) ? studio.time.flow : meta.flows[0];
    studio.time.set({ duration: meta.duration_s, flow });
    parts.flow.replaceChildren(...meta.flows.map((name) => element("option", { value: name, selected: name === flow }, name)));
    parts.flow.hidden = meta.flows.length < 2;
    parts.title.hidden = false;
    await Promise.all([tell(flow), divide(flow), share(flow)]);
  }

  function clear() {
    for (const part of [parts.bar, parts.keys]) part.replaceChildren();
    parts.list.replaceChildren(element("li", {}, "Run the scenario to see what its flows wait for."));
    parts.title.hidden = parts.flow.hidden = parts.access.hidden = true;
  }

  // A server is asked when the handle is at rest; a single file answers at once.
  function later(isWindow) {
    isOtherWindow = isOtherWindow || isWindow;
    if (studio.source.isLive) studio.atRest("why", work);
    else studio.pending(work());
  }

  function work() {
    // There may be no run any more, or the facts of another one are on their way.
    if (!meta || shown !== studio.time.run) return null;
    const jobs = [tell(), ...(isOtherWindow ? [divide(), share()] : [])];
    isOtherWindow = false;
    return Promise.all(jobs);
  }

  async function tell(flow = studio.time.flow) {
    const { run, t } = studio.time;
    const found = await studio.source.why(run, { flow, t });
    if (run !== studio.time.run || (studio.source.isLive && t !== studio.time.t)) return;
    if (told && told.sentences.join("\n") === found.sentences.join("\n")) return;
    told = found;
    parts.list.replaceChildren(...found.sentences.map(sentence));
  }

  // The moment of a sentence is a way to go there.
  function sentence(text) {
    const [, moment, rest_] = /^([\d.]+) s: (.*)$/s.exec(text) || [null, null, text];
    if (moment === null) return element("li", {}, rest_);
    return element("li", {}, element("button", { type: "button", class: "studio-moment", title: "Move the handle there", onclick: () => studio.time.set({ t: Number(moment) }) }, `${moment} s`), ` ${rest_}`);
  }

  async function divide(flow = studio.time.flow) {
    const { run, from, to, duration } = studio.time;
    const found = await studio.source.spent(run, { flow, from, to: Math.min(to, meta.duration_s) });
    if (run !== studio.time.run) return;
    spent = found;
    const there = found.parts.filter((part) => part.time_s > 0);
    const isWhole = found.start_s === 0 && found.end_s >= duration - 1e-9;
    parts.title.textContent = `Where the time of ${flow} went${isWhole ? "" : `, ${studio.format.instant(found.start_s, to - from)} to ${studio.format.instant(found.end_s, to - from)}`}`;
    parts.bar.replaceChildren(...there.map(piece));
    parts.keys.replaceChildren(...there.map(legend));
  }

  function piece(part) {
    const text = `${part.what}: ${studio.format.quantity(part.time_s, "s")}`;
    const made = element("button", { type: "button", title: `${text}. Zoom to its longest span`, "aria-label": `${text}; zoom to its longest span`, "data-part": part.part, onclick: () => zoom(part) });
    made.style.flexGrow = String(part.share);
    made.style.background = `var(--studio-${part.colour ?? COLOURS[part.part]})`;
    return made;
  }

  function legend(part) {
    const key = element("span", { class: "studio-key" });
    key.style.setProperty("--key", `var(--studio-${part.colour ?? COLOURS[part.part]})`);
    return element("li", { title: part.what }, key, `${part.words ?? WORDS[part.part]} `, part.time_s === null ? null : element("b", {}, studio.format.quantity(part.time_s, "s")));
  }

  // The delay in media along the route of the flow, as bars of one scale.
  async function share(flow = studio.time.flow) {
    const run = studio.time.run;
    const known = meta.access ?? {};
    const ways = Object.keys(known).length ? [...(await studio.source.network(run)).flows] : [];
    if (run !== studio.time.run) return;
    const way = ways.find((each) => each.flow === flow);
    const links = [...(way?.route ?? []), ...(way?.reverse_route ?? [])].filter((link) => link in known);
    parts.access.hidden = !links.length;
    const sum = (link) => Object.values(known[link]).reduce((all, each) => all + each, 0);
    const most = Math.max(...links.map(sum));
    const there = Object.keys(ACCESS).filter((part) => links.some((link) => known[link][part] > 0));
    parts.access.replaceChildren(element("h2", {}, "Mean delay of packets, shared access"), ...links.map((link) => accessBar(link, known[link], sum(link), most)), element("ul", { class: "studio-legend" }, ...there.map((part) => legend({ what: ACCESS[part][1], words: ACCESS[part][1], colour: ACCESS[part][0], time_s: null }))));
  }

  function accessBar(link, delays, all, most) {
    const said = Object.entries(ACCESS).filter(([part]) => delays[part] > 0).map(([part, [, words]]) => `${words} ${studio.format.quantity(delays[part], "s")}`);
    const bar = element("div", { class: "studio-spent", role: "img", "aria-label": `${link}: ${said.join(", ")}`, title: said.join(", ") });
    for (const [part, [colour]] of Object.entries(ACCESS)) {
      if (!(delays[part] > 0)) continue;
      const made = element("span", { "data-part": part });
      made.style.flexGrow = String(delays[part] / all);
      made.style.background = `var(--studio-${colour})`;
      bar.append(made);
    }
    bar.style.width = `${(100 * all) / most}%`;
    return element("div", {}, element("span", {}, `${link} `, element("b", {}, studio.format.quantity(all, "s"))), bar);
  }

  function zoom(part) {
    if (!part.longest_s) return;
    const [from, to] = part.longest_s;
    const room = Math.max((to - from) * 0.05, 1e-4);
    studio.time.set({ from: Math.max(0, from - room), to: Math.min(studio.time.duration, to + room), t: from });
  }

  studio.why = { mount, report: () => ({ sentences: told ? told.sentences : [], parts: spent ? spent.parts : [], access: meta?.access ?? {} }) };
})();
