// Compares congestion controls, or cases of the scenario: single runs with the same seeds, side by side. It computes no interval.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const SEEDS = 5;
  const MOST = 4;
  const USUAL = ["reno", "cubic", "bbr3"];
  // Columns of the table of the run.
  const METRICS = { goodput_bps: "Goodput", lost_packets: "Lost packets", jain: "Jain's index of the goodput" };
  let parts = null;
  let known = null;
  let work = null;
  let found = null;

  // `begin` gives the text to compare, or null; `busy` is told whether runs are going.
  function mount(place, dictionary, { begin, busy }) {
    known = dictionary.summary;
    const senders = studio.complete.valuesAt(["tcp", "cc"]).map((each) => each.name);
    const what = element("select", { "aria-label": "What to compare", onchange: () => fill() }, element("option", { value: "cc" }, "congestion controls"), element("option", { value: "case" }, "cases of the scenario"));
    const list = element("fieldset", { class: "lab-senders" });
    const metric = element("select", { "aria-label": "Metric", onchange: draw }, ...Object.entries(METRICS).map(([column, title]) => element("option", { value: column }, title)));
    const go = element("button", { type: "button", class: "lab-main", onclick: () => start(begin(), busy) }, "Compare");
    const say = element("p", { class: "lab-say", role: "status" });
    const figure = element("div", { class: "lab-compared" });
    parts = { what, list, senders, cases: [], metric, go, say, figure };
    place.append(
      element("p", {}, `Choose 2 to ${MOST} `, what, `. Each runs ${SEEDS} times, with the same ${SEEDS} seeds for all.`),
      list,
      element("div", { class: "lab-bar" }, go, metric),
      say,
      figure,
    );
    offer([]);
    studio.palette.onRepaint(draw);
    addEventListener("resize", draw);
  }

  // The cases of the text. Without cases, congestion controls are compared.
  function offer(cases) {
    if (parts.list.children.length && cases.join("\n") === parts.cases.join("\n")) return;
    const wasEmpty = !parts.list.children.length;
    parts.cases = cases;
    parts.what.disabled = cases.length < 2;
    if (wasEmpty || (cases.length < 2 && parts.what.value === "case")) parts.what.value = "cc";
    if (wasEmpty || parts.what.value === "case") fill();
  }

  function fill(marked = parts.what.value === "case" ? parts.cases.slice(0, MOST) : USUAL) {
    const names = parts.what.value === "case" ? parts.cases : parts.senders;
    const boxes = names.map((name) => {
      const box = element("input", { type: "checkbox", value: name, checked: marked.includes(name) });
      box.addEventListener("change", () => chosen().length > MOST && (box.checked = false));
      return element("label", { title: name }, box, name);
    });
    parts.list.replaceChildren(element("legend", {}, parts.what.selectedOptions[0].textContent), ...boxes);
  }

  const chosen = () => [...parts.list.querySelectorAll("input:checked")].map((box) => box.value);

  // Congestion controls of a link.
  function choose(names) {
    parts.what.value = "cc";
    fill(names);
  }

  async function start(scenario, busy) {
    const names = chosen();
    if (!scenario || work) return;
    if (names.length < 2) return void (parts.say.textContent = "Choose two or more.");
    const isCase = parts.what.value === "case";
    const seeds = Array.from({ length: SEEDS }, (_, index) => scenario.seed + index);
    // Seed by seed, so that all have points early.
    const jobs = seeds.flatMap((seed) => names.map((cc) => ({ text: scenario.text, limit_ms: scenario.limit_ms, seed, ...(isCase ? { case: cc } : { sets: [["tcp.cc", JSON.stringify(cc)]] }) })));
    found = { names, seeds, runs: [], scenario, isCase };
    parts.figure.replaceChildren();
    const count = () => (parts.say.textContent = `${found.runs.length} of ${jobs.length} runs`);
    count();
    let problem = "";
    work = studio.core.runAll(jobs, (index, answer) => {
      if (answer.problems || answer.wrong || answer.tables?.wrong) problem ||= answer.problems ? answer.problems[0].message : (answer.wrong ?? answer.tables.wrong);
      else if (!answer.cut) found.runs.push({ cc: names[index % names.length], seed: jobs[index].seed, ...first(answer.tables.summary) });
      count();
      draw();
    });
    busy(true);
    try {
      await work;
    } catch (error) {
      problem = error.message;
    }
    work = null;
    busy(false);
    parts.say.textContent = problem || (found.runs.length < jobs.length ? `Stopped: ${found.runs.length} of ${jobs.length} runs have ended, and only these are shown.` : "");
    draw();
  }

  const first = (table) => Object.fromEntries(Object.entries(studio.rows.columns(table)).map(([name, values]) => [name, values[0]]));
  const middle = (values) => {
    const sorted = [...values].sort((one, other) => one - other);
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };

  // By congestion control: the values of its runs, with the least, the median and the largest.
  function summary(metric) {
    return found.names.map((cc) => {
      const values = found.runs.filter((run) => run.cc === cc && run[metric] !== null).map((run) => run[metric]);
      return { cc, values, least: Math.min(...values), median: middle(values), most: Math.max(...values) };
    });
  }

  function draw() {
    if (!found?.runs.length) return;
    const metric = parts.metric.value;
    const { unit } = known.find((each) => each.name === metric);
    const rows = summary(metric);
    const said = (value) => studio.format.quantity(value, unit);
    const table = element("table", { class: "lab-table" }, element("thead", {}, element("tr", {}, ...[found.isCase ? "case" : "congestion control", "runs", "least", "median", "largest"].map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, ...rows.map(({ cc, values, least, median, most }) => element("tr", {}, element("td", { class: "is-text" }, cc), element("td", {}, String(values.length)), ...(values.length ? [least, median, most].map((value) => element("td", {}, said(value))) : [element("td", { colspan: "3" }, "–")])))));
    const more = found.isCase ? "" : ` --cc ${found.names.join(",")}`;
    const axis = axisFor(Math.max(...rows.flatMap((row) => row.values)), unit);
    parts.figure.replaceChildren(
      element("h2", {}, [METRICS[metric], axis.name].filter(Boolean).join(", ")),
      dots(rows, unit, axis),
      element("div", { class: "lab-scroll", tabindex: "0", role: "region", "aria-label": "Compared runs" }, table),
      element("p", { class: "studio-note" }, `A dot is a single run, the line its range, the bar the median. Seeds ${found.seeds[0]} to ${found.seeds.at(-1)}. These are single runs, without intervals and without a test. With bentpipe installed, this command gives confidence intervals:`),
      element("pre", { class: "lab-command", tabindex: "0" }, `bentpipe compare ${found.scenario.file}${more}`),
    );
  }

  // Round marks from zero to the first one that is not below the largest value, in a unit that is easy to read.
  function axisFor(largest, unit) {
    const most = largest > 0 ? largest : 1;
    const size = 10 ** Math.floor(Math.log10(most / 2));
    const step = [1, 2, 5, 10].map((times) => times * size).find((each) => most / each <= 5);
    const [divisor, name] = studio.format.scale(most, unit);
    const marks = Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
    return { name, marks: marks.map((value) => [value, String(Number((value / divisor).toPrecision(4)))]), end: marks.at(-1) };
  }

  // Dots by row on one axis that begins at zero.
  function dots(rows, unit, { marks, end }) {
    const SVG = "http://www.w3.org/2000/svg";
    const make = (tag, attributes, text) => {
      const made = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      if (text !== undefined) made.textContent = text;
      return made;
    };
    const [width, left, right, tall] = [Math.max(260, parts.figure.clientWidth || 560), 110, 16, 30];
    const x = (value) => left + (value / end) * (width - left - right);
    const height = rows.length * tall + 24;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "lab-dots", "aria-label": rows.filter((row) => row.values.length).map((row) => `${row.cc}: ${studio.format.quantity(row.least, unit)} to ${studio.format.quantity(row.most, unit)}, median ${studio.format.quantity(row.median, unit)}`).join("; ") });
    const text = studio.palette.colour("text");
    for (const [value, said] of marks) {
      svg.append(make("line", { x1: x(value), x2: x(value), y1: 0, y2: rows.length * tall, stroke: studio.palette.colour("grid") }));
      svg.append(make("text", { x: x(value), y: height - 6, "text-anchor": "middle", fill: studio.palette.colour("soft"), "font-size": 11 }, said));
    }
    rows.forEach(({ cc, values, least, median, most: largest }, index) => {
      const y = (index + 0.5) * tall;
      const colour = studio.palette.colour(studio.palette.CURVES[index]);
      svg.append(make("text", { x: left - 10, y: y + 4, "text-anchor": "end", fill: text, "font-size": 13 }, cc));
      if (!values.length) return;
      svg.append(make("line", { x1: x(least), x2: x(largest), y1: y, y2: y, stroke: colour, "stroke-width": 2, opacity: 0.5 }));
      for (const value of values) svg.append(make("circle", { cx: x(value), cy: y, r: 4.5, fill: colour, "fill-opacity": 0.65 }));
      svg.append(make("line", { x1: x(median), x2: x(median), y1: y - 9, y2: y + 9, stroke: colour, "stroke-width": 3 }));
    });
    return svg;
  }

  studio.compare = { mount, offer, choose, chosen, isCase: () => parts.what.value === "case", stop: () => work?.stop(), report: () => (found ? { runs: found.runs, isRunning: Boolean(work) } : null) };
})();
