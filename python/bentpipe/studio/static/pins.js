// The list of the shown run and the pinned ones: what differs, and by how much at the handle.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const NAMED = 2; // Settings in the name of a run.
  const TOLD = 4; // Settings that are listed.
  const AT_HANDLE = [["goodput_bps", "Goodput"], ["cwnd_bytes", "Window"], ["srtt_s", "Round trip"], ["route_queue_bytes", "Queue"]];
  const DECIMALS = 4;
  let place = null;
  let margin = 1; // Per cent.
  let runs = []; // The shown run, then the pinned ones: run, name, facts, settings, losses.
  let panels = [];

  const mount = (there) => (place = there);

  // Names the pinned runs by the settings in which they differ.
  async function name(facts, pinned) {
    runs = facts ? [{ run: studio.time.run, name: "this run", meta: facts, settings: [] }, ...pinned] : [];
    const found = pinned.length && facts?.series.length && studio.source.differences ? await studio.source.differences(studio.time.run, pinned.map((each) => each.run)) : [];
    pinned.forEach((each, index) => {
      each.settings = found[index] ?? [];
      const written = each.settings.filter(([, , , isWritten]) => isWritten);
      each.name = written.slice(0, NAMED).map(named).join(", ") || (each.meta.title === facts?.title ? `pinned run ${index + 1}` : each.meta.title);
    });
    const first = pinned[0]?.settings[0];
    if (first?.[3]) runs[0].name = `this run: ${named([first[0], null, first[1]])}`;
  }

  function named([key, , there]) {
    const last = key.split(".").at(-1);
    return last === "cc" ? valued(there) : `${last} ${valued(there)}`;
  }

  function told({ settings }) {
    const written = settings.filter(([, , , isWritten]) => isWritten);
    const rest = settings.length - Math.min(written.length, TOLD);
    const texts = written.slice(0, TOLD).map(([key, here, there]) => `${key}: ${valued(there)}, here ${valued(here)}`);
    const follows = rest === 1 ? "default that follows" : "defaults that follow";
    return [...texts, ...(rest ? [`${rest} ${written.length > TOLD ? "more" : follows}`] : [])].join("; ");
  }

  function valued(text) {
    const [, bytes] = /^(\d+) B$/.exec(text ?? "") || [];
    return bytes ? studio.format.quantity(Number(bytes), "B") : text ?? "absent";
  }

  // Lost packets of the chosen flow in the visible part.
  async function load(window) {
    const flow = studio.time.flow;
    const asked = runs.length > 1 ? runs : [];
    await Promise.all(asked.map(async (each) => {
      each.lost = null;
      if (!each.meta.flows.includes(flow)) return;
      const to = Math.min(window.to, each.meta.duration_s);
      const causes = to > window.from ? each.meta.series.filter(({ kind }) => kind === "count") : [];
      const found = await Promise.all(causes.map((cause) => studio.source.series(each.run, { ...window, name: cause.name, of: flow, to })));
      each.lost = found.reduce((sum, { values }) => sum + values.reduce((all, count) => all + count, 0), 0);
    }));
  }

  // The columns of the list: title, unit, and the value of each run.
  function columns() {
    const flow = studio.time.flow;
    const curveOf = (id, run) => {
      const main = panels.flatMap((panel) => panel.curves).find((curve) => curve.name === id && curve.of === flow);
      return run === studio.time.run ? main : main?.behind.find((curve) => curve.run === run);
    };
    const drawn = (id, run) => {
      const curve = curveOf(id, run);
      return curve ? studio.curves.value(curve, studio.time.t) : null;
    };
    const unit = (id) => runs[0].meta.series.find((each) => each.name === id)?.unit ?? "1";
    const all = [
      ...AT_HANDLE.map(([id, title]) => ({ title, unit: unit(id), isAtHandle: true, values: runs.map((each) => drawn(id, each.run)) })),
      { title: "Mean goodput", isAtHandle: false, unit: "bit/s", values: runs.map((each) => mean(curveOf("goodput_bps", each.run))) },
      { title: "Lost", isAtHandle: false, unit: "1", values: runs.map((each) => each.lost ?? null) },
      { title: "Took", isAtHandle: false, unit: "s", values: runs.map((each) => each.meta.completion_s?.[flow] ?? null) },
    ];
    return all.filter((column) => column.values.some((value) => value !== null));
  }

  // While the flow is active.
  function mean(curve) {
    if (!curve?.points) return null;
    const { begins, values, end } = curve.points;
    let [sum, length] = [0, 0];
    begins.forEach((begin, index) => {
      if (Number.isNaN(values[index])) return;
      const long = (index + 1 < begins.length ? begins[index + 1] : end) - begin;
      [sum, length] = [sum + values[index] * long, length + long];
    });
    return length > 0 ? sum / length : null;
  }

  // Apart by less than the margin: a tie.
  const isTie = (value, base) => Math.abs(value - base) <= (margin / 100) * Math.abs(base);

  function difference(value, base) {
    if (value === base) return "equal";
    if (!base) return "";
    const share = (100 * (value - base)) / Math.abs(base);
    const size = Math.abs(share);
    const digits = Math.max(0, Math.min(DECIMALS, 1 - Math.floor(Math.log10(size))));
    return size > 1000 ? `× ${(value / base).toPrecision(3)}` : `${share > 0 ? "+" : "−"}${size.toFixed(size >= 10 ? 0 : digits)} %`;
  }

  function move(now) {
    panels = now;
    const isShown = runs.length > 1 && panels.length > 0;
    place.hidden = !isShown;
    if (!isShown) return place.replaceChildren();
    const found = columns();
    const handle = found.filter((column) => column.isAtHandle).length;
    const groups = [[handle, `${studio.time.flow} at ${studio.format.instant(studio.time.t, studio.time.to - studio.time.from)}`], [found.length - handle, "in sight"]];
    const head = [
      element("tr", {}, element("td", {}, marginField()), ...groups.filter(([count]) => count).map(([count, text]) => element("th", { colspan: String(count), scope: "colgroup" }, text))),
      element("tr", {}, element("th", { scope: "col" }, "Run"), ...found.map((column) => element("th", { scope: "col" }, column.title))),
    ];
    const body = runs.map((each, index) => element("tr", { "data-run": each.run }, element("th", { scope: "row" }, ...title(each, index)), ...found.map((column) => cell(column, index))));
    const isTyped = place.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement;
    if (isTyped) place.querySelector("tbody").replaceChildren(...body);
    else place.replaceChildren(element("table", {}, element("thead", {}, ...head), element("tbody", {}, ...body)));
  }

  function marginField() {
    const field = element("input", { type: "number", min: "0", max: "100", step: "0.5", value: String(margin), "aria-label": "Margin of ties, per cent" });
    field.addEventListener("input", () => {
      const value = Number(field.value);
      if (field.value === "" || !(value >= 0)) return;
      margin = value;
      move(panels);
    });
    return element("label", { title: "Values that differ by less than this are framed: a tie" }, element("span", { class: "is-tie" }, "tie"), " within ", field, " %");
  }

  function title(each, index) {
    const curve = panels.flatMap((panel) => panel.curves).find(({ name, of }) => name === "goodput_bps" && of === studio.time.flow);
    const drawn = index === 0 ? curve : curve?.behind.find(({ run }) => run === each.run);
    const key = element("span", { class: "studio-key", "data-dashed": index > 0 });
    key.style.setProperty("--key", `var(--studio-${drawn?.colour ?? "behind"})`);
    if (index === 0) return [key, " ", element("b", {}, each.name)];
    const remove = element("button", { type: "button", class: "studio-quiet", title: "Unpin", "aria-label": `Unpin ${each.name}`, onclick: () => unpin(each.run) }, "×");
    return [key, " ", element("b", {}, each.name), " ", remove, element("small", {}, told(each) || "no setting differs")];
  }

  function unpin(run) {
    studio.time.set({ pin: studio.time.pin.split(",").filter((each) => each !== run).join(",") || null });
    document.dispatchEvent(new CustomEvent("studio-unpin", { detail: run }));
  }

  function cell({ values, unit }, index) {
    const value = values[index];
    const text = unit === "1" && value !== null ? String(value) : studio.format.quantity(value, unit);
    if (index === 0 || value === null || values[0] === null) return element("td", {}, text);
    return element("td", { "data-tie": isTie(value, values[0]) }, element("span", { class: isTie(value, values[0]) ? "is-tie" : null }, text), element("small", {}, difference(value, values[0])));
  }

  const report = () => ({ names: runs.slice(1).map((each) => each.name), settings: runs.slice(1).map((each) => each.settings), columns: place && !place.hidden ? columns() : [], margin });

  studio.pins = { mount, name, load, move, report };
})();
