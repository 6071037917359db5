// Paints the goodput of all flows of a run that has many: quantiles over time, and a row of colours for each flow.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element, palette } = studio;
  const MANY = 8; // More flows than this have no colour each.
  const SERIES = "goodput_bps";
  const COLUMN = 2; // Pixels.
  const ORDERS = { scenario: "as in the scenario", largest: "largest first", worst: "worst first", longest: "longest first" };
  const BANDS = [[0, 4, 0.16], [1, 3, 0.3]]; // Places of quantiles, and opacity.
  const MEDIAN = 2;
  let found = null;
  let order = "scenario";
  let picture = null; // One pixel for each row and column.
  let choose = (flow) => flow;

  // A shared file names only some flows, and has the picture of all.
  const isOn = (meta) => (studio.source.isLive ? meta.flows.length > MANY && Boolean(studio.source.flows) : studio.source.has("run/flows"));

  function floats(text) {
    return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  }

  async function load(meta, { from, to, columns }) {
    if (!isOn(meta)) return void (found = null);
    const run = studio.time.run;
    const asked = { name: SERIES, from, to: Math.min(to, meta.duration_s), columns: Math.ceil(columns / COLUMN), order };
    const told = await studio.source.flows(run, asked);
    if (run !== studio.time.run) return;
    const count = told.begins.length;
    const all = floats(told.quantiles);
    found = { ...told, rows: floats(told.rows), quantiles: Array.from({ length: count ? all.length / count : 0 }, (_, index) => all.subarray(index * count, (index + 1) * count)) };
    found.most = found.rows.reduce((most, value) => (value > most ? value : most), 0);
    found.height = count ? found.rows.length / count : 0;
    colour();
  }

  // The rows as pixels, whose opacity is the share of the greatest value.
  function colour() {
    picture = null;
    const [width, height] = [found.begins.length, found.height];
    if (!width || !height) return;
    picture = document.createElement("canvas");
    [picture.width, picture.height] = [width, height];
    const ctx = picture.getContext("2d");
    ctx.fillStyle = palette.colour("blue");
    ctx.fillRect(0, 0, 1, 1);
    const [red, green, blue] = ctx.getImageData(0, 0, 1, 1).data;
    const pixels = ctx.createImageData(width, height);
    for (let index = 0; index < found.rows.length; index += 1) {
      const share = found.most > 0 ? found.rows[index] / found.most : 0;
      // Without a value, a pixel is empty; a flow that waits is not.
      pixels.data.set([red, green, blue, Number.isNaN(share) ? 0 : 24 + 231 * Math.sqrt(share)], 4 * index);
    }
    ctx.putImageData(pixels, 0, 0);
  }

  const data = () => [[studio.time.from, studio.time.to], [null, null]];
  const ends = () => [found.begins[0], found.begins[found.begins.length - 1] + found.width_s];

  function clipped(plot, draw) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    draw(ctx, bbox);
    ctx.restore();
  }

  function paintRows(plot) {
    if (!found || !picture) return;
    clipped(plot, (ctx, { left, top, width, height }) => {
      const [first, last] = ends().map((t) => plot.valToPos(t, "x", true));
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(picture, first, top, last - first, height);
      // Chosen flows have a mark of their colour.
      const scale = devicePixelRatio;
      for (const flow of studio.plots.flows()) {
        const place = found.flows.indexOf(flow);
        if (place < 0) continue;
        const tall = height / found.height;
        const y = top + Math.floor(place / found.each) * tall + tall / 2;
        ctx.fillStyle = palette.colour(studio.plots.colourOf(flow) ?? "ink");
        for (const [x, way] of [[left, 1], [left + width, -1]]) {
          ctx.beginPath();
          ctx.moveTo(x, y - 4 * scale);
          ctx.lineTo(x + way * 7 * scale, y);
          ctx.lineTo(x, y + 4 * scale);
          ctx.fill();
        }
      }
    });
  }

  function paintSpread(plot) {
    if (!found) return;
    clipped(plot, (ctx) => {
      ctx.fillStyle = palette.colour("blue");
      for (const [low, high, opacity] of BANDS) {
        ctx.globalAlpha = opacity;
        ctx.beginPath();
        along(plot, found.quantiles[high], (x, y, isFirst) => (isFirst ? ctx.moveTo(x, y) : ctx.lineTo(x, y)));
        along(plot, found.quantiles[low], (x, y) => ctx.lineTo(x, y), true);
        ctx.fill();
      }
      ctx.globalAlpha = 1;
      ctx.strokeStyle = palette.colour("blue");
      ctx.lineWidth = 1.4 * devicePixelRatio;
      ctx.beginPath();
      along(plot, found.quantiles[MEDIAN], (x, y, isFirst) => (isFirst ? ctx.moveTo(x, y) : ctx.lineTo(x, y)));
      ctx.stroke();
    });
  }

  // Steps of columns with a value, forwards or backwards.
  function along(plot, values, visit, isBack = false) {
    const places = Array.from(values.keys()).filter((index) => !Number.isNaN(values[index]));
    let isFirst = true;
    for (const index of isBack ? places.reverse() : places) {
      const y = plot.valToPos(values[index], "y", true);
      const sides = [found.begins[index], found.begins[index] + found.width_s];
      for (const t of isBack ? sides.reverse() : sides) {
        visit(plot.valToPos(t, "x", true), y, isFirst);
        isFirst = false;
      }
    }
  }

  const column = () => {
    const index = found ? Math.floor((studio.time.t - found.begins[0]) / found.width_s + 1e-9) : -1;
    const last = found ? found.begins.length - 1 : -1;
    return index >= 0 && last >= 0 && studio.time.t <= ends()[1] ? Math.min(index, last) : null;
  };
  const said = (value) => (value === undefined || Number.isNaN(value) ? "–" : studio.format.quantity(value, "bit/s"));
  const words = () => ["5 %", "25 %", "median", "75 %", "95 %"];

  function chip(label, value) {
    return element("span", { class: "studio-chip" }, element("span", {}, label), element("b", { class: "studio-value" }, value));
  }

  function legendOfSpread() {
    const at = column();
    return found ? words().map((label, index) => chip(label, at === null ? "–" : said(found.quantiles[index][at]))) : [];
  }

  function legendOfRows() {
    if (!found) return [];
    const many = found.each > 1 ? `${found.flows.length} flows, ${found.each} a row` : `${found.flows.length} flows`;
    return [chip(many, ""), chip(ORDERS[order], ""), chip("darkest", said(found.most))];
  }

  function rowsOfSpread() {
    const rows = found ? found.begins.map((begin, index) => [studio.format.instant(begin, studio.time.to - studio.time.from), ...found.quantiles.map((each) => said(each[index]))]) : [];
    return [["time", ...words()], rows];
  }

  // The mean of each row over the visible part.
  function rowsOfHeat() {
    if (!found) return [["flow", "mean"], []];
    const count = found.begins.length;
    const rows = Array.from({ length: found.height }, (_, row) => {
      const known = [...found.rows.subarray(row * count, (row + 1) * count)].filter((value) => !Number.isNaN(value));
      const names = found.flows.slice(row * found.each, (row + 1) * found.each);
      const name = names.length > 1 ? `${names[0]} to ${names[names.length - 1]}` : names[0];
      return [name, said(known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : NaN)];
    });
    return [["flow", "mean"], rows];
  }

  // A click in a row chooses its flow.
  function pick(plot, y) {
    if (!found) return;
    const share = y / plot.over.clientHeight;
    const flow = found.flows[Math.min(found.flows.length - 1, Math.floor(share * found.height) * found.each)];
    if (flow) choose(flow);
  }

  function sorted(names) {
    if (!found) return names;
    const known = new Set(names);
    return found.flows.filter((flow) => known.has(flow));
  }

  // The choice of the order, which lists and rows have.
  function orders(then) {
    const options = Object.entries(ORDERS).map(([name, text]) => element("option", { value: name, selected: name === order }, text));
    return element("select", { "aria-label": "Order of flows", onchange: (event) => ((order = event.target.value), then()) }, ...options);
  }

  const spread = { data, paint: paintSpread, rows: rowsOfSpread, legend: legendOfSpread, said: () => legendOfSpread().map((each) => each.textContent).join(", "), unit: "bit/s", range: () => [0, found ? found.quantiles[4].reduce((most, value) => (value > most ? value : most), 0) : 1] };
  const heat = { data, paint: paintRows, rows: rowsOfHeat, legend: legendOfRows, said: () => legendOfRows().map((each) => each.textContent).join(", "), isNamed: true, pick, range: () => [0, 1] };
  palette.onRepaint(() => found && colour());
  studio.flows = { MANY, isOn, load, spread, heat, orders, sorted, onChoose: (then) => (choose = then), report: () => (found ? { flows: found.flows.length, rows: found.height, each: found.each, columns: found.begins.length, order } : null) };
})();
