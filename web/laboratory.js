// The page: what it has inside, what its buttons do, and what it shows when.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const CHECK_MS = 100; // After the last letter.
  const at = (id) => /** @type {any} */ (document.getElementById(id));
  const tabs = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[role=tab]")]);
  let content = null;
  let known = null;
  let work = null;
  let facts = null; // Of the text, if it is valid.
  let name = null; // Of the bundled scenario in the editor.
  let runs = 0;
  let checks = 0;
  let hadSky = null;

  async function open() {
    content = JSON.parse(at("lab-content").textContent);
    studio.source = studio.finished.source;
    at("scenario").append(...Object.keys(content.scenarios).map((each) => element("option", { value: each }, each)), element("option", { value: "", hidden: true }, "your own"));
    studio.editor.mount(at("editor"), { onText: typed, onRun: () => run() });
    const asked = await readLink();
    listen();
    show(asked);
    try {
      known = await studio.core.begin(await moduleBytes(), makeWorker);
      studio.complete.begin(await studio.core.ask({ schema: {} }));
    } catch (error) {
      return say(`The simulator did not start: ${error.message}. It needs a browser of 2023 or later with WebAssembly.`);
    }
    for (const view of ["plots", "topology", "globe", "why", "strip"]) studio[view].mount(at(view));
    at("why").append(element("p", { id: "remedies", class: "studio-note", hidden: true }));
    studio.compare.mount(at("compare"), known.dictionary, { begin: () => facts && { text: studio.editor.text(), seed: facts.seed, limit_ms: limit(), file: file() }, busy });
    at("run").disabled = false;
    say("");
    await follow(asked);
    studio.isOpen = true;
  }

  const readLink = () => studio.link.read(location.hash).catch(() => ({ cc: [], isWrong: true }));

  // Does what an address asks for with the text that is shown.
  async function follow(asked) {
    await check();
    if (asked.isWrong) say("The link is damaged: its scenario cannot be read.");
    if (asked.cc.length) compareAs(asked.cc);
    if (asked.isRun && facts) asked.cc.length ? at("compare").querySelector(".lab-main").click() : run(asked.moment);
  }

  // The text that an address asks for: a bundled scenario, or the whole text.
  function show(asked) {
    const bundled = Object.hasOwn(content.scenarios, asked.scenario ?? "geo") ? (asked.scenario ?? "geo") : "geo";
    name = asked.text === null || asked.text === undefined ? bundled : null;
    at("scenario").value = name ?? "";
    studio.editor.set(asked.text ?? content.scenarios[name]);
  }

  function compareAs(names) {
    studio.compare.choose(names);
    turn("compare");
  }

  async function moduleBytes() {
    const packed = content.module ? Uint8Array.from(atob(content.module), (letter) => letter.charCodeAt(0)) : await fetched("core.wasm.gz");
    // Some hosts unpack it on the way.
    if (packed[0] !== 0x1f || packed[1] !== 0x8b) return packed;
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  async function fetched(path) {
    const response = await fetch(path);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  const makeWorker = () => (content.worker ? new Worker(URL.createObjectURL(new Blob([content.worker], { type: "text/javascript" }))) : new Worker("worker.js"));

  function listen() {
    at("scenario").addEventListener("change", () => (show({ scenario: at("scenario").value }), forget()));
    at("run").addEventListener("click", () => run());
    at("stop").addEventListener("click", () => (work?.stop(), studio.compare.stop()));
    at("pin").addEventListener("click", pin);
    at("picture").addEventListener("click", () => turnPicture());
    at("link").addEventListener("click", copyLink);
    at("scheme").addEventListener("click", scheme);
    at("save").addEventListener("toggle", () => at("save").open && saves());
    at("save").addEventListener("keydown", (event) => event.key === "Escape" && (at("save").open = false));
    for (const tab of tabs()) {
      tab.addEventListener("click", () => turn(tab.getAttribute("aria-controls")));
      tab.addEventListener("keydown", ({ key }) => ["ArrowLeft", "ArrowRight"].includes(key) && next(tab, key === "ArrowRight" ? 1 : -1));
    }
    addEventListener("hashchange", async () => {
      const asked = await readLink();
      while (work) {
        work.stop();
        await work.catch(() => {});
      }
      show(asked);
      forget();
      await follow(asked);
    });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", drop);
  }

  // A dropped TOML file is a scenario; the others are files that scenarios name.
  async function drop(event) {
    event.preventDefault();
    for (const dropped of event.dataTransfer.files) await take(dropped.name, await dropped.text());
  }

  async function take(title, text) {
    if (title.endsWith(".toml")) return show({ text });
    studio.core.files[title] = text;
    say(`${title} is in the page now: the scenario may name it.`);
    await check();
  }

  function next(tab, step) {
    const all = tabs();
    const other = all[(all.indexOf(tab) + step + all.length) % all.length];
    turn(other.getAttribute("aria-controls"));
    other.focus();
  }

  function turn(panel) {
    for (const tab of tabs()) {
      const isOn = tab.getAttribute("aria-controls") === panel;
      tab.setAttribute("aria-selected", String(isOn));
      tab.tabIndex = isOn ? 0 : -1;
      at(tab.getAttribute("aria-controls")).hidden = !isOn;
    }
    resolve();
  }

  // The text with every default and its source, as `bentpipe check` prints it.
  async function resolve() {
    if (at("defaults").hidden || !known) return;
    const { resolved } = await studio.core.ask({ resolve: { text: studio.editor.text() } });
    const note = resolved ? "Every key of the scenario, with the source of each default." : "The scenario has problems: its defaults follow when they are mended.";
    at("defaults").replaceChildren(element("p", { class: "studio-note" }, note), ...(resolved ? [element("pre", { class: "lab-command", tabindex: "0" }, resolved)] : []));
  }

  const say = (text) => (at("say").textContent = text);
  const limit = () => 1000 * Math.max(1, Number(at("limit").value) || 60);
  const file = () => (name ? name : "scenario.toml");

  function typed(text) {
    facts = null;
    if (name && text !== content.scenarios[name]) {
      name = null;
      at("scenario").value = "";
    }
    if (known) studio.atRest("check", check, CHECK_MS);
  }

  async function check() {
    const text = studio.editor.text();
    const asked = (checks += 1);
    let answer = null;
    try {
      answer = await studio.core.ask({ check: { text } });
    } catch (error) {
      answer = { problems: [{ message: error.message, expected: "", known: [], suggestion: "", start: null }] };
    }
    if (asked !== checks) return;
    facts = answer.problems || answer.wrong ? null : answer;
    if (facts) studio.compare.offer(facts.cases);
    resolve();
    list([...(answer.problems ?? []).map((each) => ({ ...each, severity: "error" })), ...(answer.warnings ?? []).map((each) => ({ ...each, severity: "warning" }))]);
    if (facts && (!studio.time.run || studio.time.isDraft)) draft(text);
  }

  // Before the first run of a text, its network is there.
  function draft(text) {
    const run = `draft-${(runs += 1)}`;
    studio.finished.keep(run, new studio.finished.Draft(facts, { run, text }));
    picture(facts.has_sky);
    studio.time.set({ run, isDraft: true, pin: null, duration: facts.duration_s, t: 0, from: null, to: null });
  }

  // Another scenario: what is shown of the one before goes.
  function forget() {
    studio.time.set({ run: null, isDraft: true, pin: null });
    at("pin").disabled = true;
    at("remedies").hidden = true;
    at("pin").setAttribute("aria-pressed", "false");
    at("tables").replaceChildren(element("p", { class: "studio-empty" }, "Run the scenario to see its tables."));
    say("");
  }

  function list(problems) {
    studio.editor.mark(problems);
    const errors = problems.filter((each) => each.severity === "error");
    const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
    const notes = problems.length - errors.length;
    const head = facts ? [element("p", { class: "lab-valid" }, `No problem: ${count(facts.flows.length, "flow")}, ${Number(facts.duration_s.toPrecision(6))} s${notes ? `, ${count(notes, "note")}` : ""}`)] : [];
    const shown = studio.time.isDraft ? null : studio.finished.find(studio.time.run);
    const old = shown && shown.meta.text !== studio.editor.text() ? [element("p", { class: "studio-note" }, "The results are those of the text before your changes.")] : [];
    at("problems").replaceChildren(...head, ...old, ...problems.slice(0, 30).map(row));
  }

  function row(problem) {
    const { message, expected, known: names, suggestion, start, end, severity } = problem;
    const hint = [expected, names.length ? `known: ${names.join(", ")}` : ""].filter(Boolean).join("; ");
    const go = start ? element("button", { type: "button", "aria-label": `Go to line ${start[0]}`, onclick: () => studio.editor.reveal(...start) }, String(start[0])) : null;
    return element("div", { class: `lab-problem is-${severity}` }, go, element("div", {}, element("p", {}, message), hint ? element("p", { class: "studio-note" }, hint) : null, suggestion && start && start[0] === end[0] && !suggestion.includes(" = ") ? repair(problem) : null));
  }

  // A name in quotes keeps them.
  function repair({ suggestion, start, end }) {
    const use = () => {
      const text = studio.editor.text();
      const line = studio.editor.starts(text)[start[0] - 1];
      const [from, to] = [line + start[1] - 1, line + end[1] - 1];
      const quote = /^["']/.exec(text.slice(from, to))?.[0] ?? "";
      studio.editor.replace(from, to, `${quote}${suggestion}${quote}`);
    };
    return element("button", { type: "button", class: "lab-repair", onclick: use }, `Use ${suggestion}`);
  }

  function busy(isBusy) {
    at("run").hidden = isBusy;
    at("stop").hidden = !isBusy;
  }

  // `moment` has the handle and the visible part after the run.
  async function run(moment = {}) {
    if (work || !known) return;
    const text = studio.editor.text();
    const command = `bentpipe run ${file()}`;
    busy(true);
    say("");
    const bar = at("progress");
    [bar.hidden, bar.value] = [false, 0];
    work = studio.core.run({ text, series: content.series, limit_ms: limit() }, ({ progress }) => (bar.value = progress));
    try {
      const answer = await work;
      if (answer.problems) return list(answer.problems.map((each) => ({ ...each, severity: "error" })));
      const wrong = answer.wrong ?? answer.tables.wrong;
      if (wrong) return say(wrong);
      finish(answer, { run: `run-${(runs += 1)}`, text, command }, moment);
    } catch (error) {
      say(error.message);
    } finally {
      work = null;
      busy(false);
      bar.hidden = true;
    }
  }

  function finish(answer, about, moment) {
    const done = new studio.finished.Run(answer, about, known);
    studio.finished.keep(about.run, done);
    const { meta } = done;
    const pinned = at("pin").getAttribute("aria-pressed") === "true" ? studio.time.pin : null;
    studio.time.set({ run: about.run, isDraft: false, pin: pinned, duration: meta.duration_s, t: 0, from: null, to: null, flow: meta.flows.includes(studio.time.flow) ? studio.time.flow : meta.flows[0] });
    if (moment.t !== undefined) studio.time.set({ from: 0, to: meta.duration_s, ...moment });
    picture(answer.has_sky);
    studio.tables.show(at("tables"), done.tables, known.dictionary);
    at("pin").disabled = false;
    at("remedies").replaceChildren("This page tries no remedies. With bentpipe installed, ", element("code", {}, about.command.replace(" run ", " why ")), " tries changes and names those that help.");
    at("remedies").hidden = false;
    turn("curves");
    check();
    const goodput = studio.format.quantity(done.tables.summary.goodput_bps[0], "bit/s");
    const cut = { late: `Stopped after ${limit() / 1000} s of work, at ${studio.format.instant(meta.duration_s, meta.duration_s)} of the run. `, stop: `Stopped at ${studio.format.instant(meta.duration_s, meta.duration_s)} of the run. ` }[answer.cut] ?? "";
    say(`${cut}Goodput ${goodput} in all${answer.took_ms ? `; simulated in ${(answer.took_ms / 1000).toFixed(2)} s` : ""}`);
  }

  // A scenario with a sky has a globe; a button turns to its network and back.
  function picture(hasSky) {
    at("picture").hidden = !hasSky;
    if (hasSky !== hadSky) turnPicture(hasSky);
    hadSky = hasSky;
  }

  function turnPicture(isGlobe = at("globe").hidden) {
    at("globe").hidden = !isGlobe;
    at("topology").hidden = isGlobe;
    at("picture").textContent = isGlobe ? "Network" : "Globe";
  }

  function pin() {
    const isOn = at("pin").getAttribute("aria-pressed") !== "true";
    at("pin").setAttribute("aria-pressed", String(isOn));
    studio.time.set({ pin: isOn ? studio.time.run : null });
  }

  async function copyLink() {
    const isCompared = !at("compare").hidden;
    const fragment = await studio.link.write({ scenario: name, text: studio.editor.text(), cc: isCompared && !studio.compare.isCase() ? studio.compare.chosen() : [] });
    history.replaceState(null, "", fragment);
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied. It holds the whole scenario.");
    } catch {
      say("The address of this page is now the link.");
    }
  }

  function scheme() {
    const root = document.documentElement;
    const isDark = root.dataset.scheme ? root.dataset.scheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.scheme = isDark ? "light" : "dark";
  }

  function saves() {
    const done = studio.time.isDraft ? null : studio.finished.find(studio.time.run);
    const button = (text, make) => element("button", { type: "button", onclick: async () => (save(...(await make())), (at("save").open = false)) }, text);
    const title = name ?? "scenario";
    const picture = () => studio.figure.svg(done.meta.title, `${done.meta.command} (seed ${done.meta.seed}, bentpipe ${done.meta.version}, results ${done.meta.results})`);
    const tables = done ? studio.tables.there(done.tables) : [];
    at("saves").replaceChildren(
      button("Scenario (TOML)", () => [`${title}.toml`, studio.editor.text(), "text/plain"]),
      ...(done
        ? [
            button("All tables (JSON)", () => [`${title}.json`, studio.tables.json(done.tables), "application/json"]),
            ...tables.map((each) => button(`${studio.tables.TITLES[each]} (CSV)`, () => [`${title}-${each}.csv`, studio.tables.csv(done.tables[each]), "text/csv"])),
            button("Figure (SVG)", () => [`${title}.svg`, picture(), "image/svg+xml"]),
            button("Figure (PNG)", async () => [`${title}.png`, await studio.figure.png(picture()), "image/png"]),
          ]
        : []),
      element("p", {}, "The same with bentpipe installed:"),
      element("pre", { class: "lab-command", tabindex: "0" }, done?.meta.command ?? `bentpipe run ${file()}`),
    );
  }

  function save(title, data, type) {
    const link = element("a", { href: URL.createObjectURL(new Blob([data], { type })), download: title });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  studio.laboratory = { open, take };
  open();
})();
