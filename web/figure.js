// The visible plots as one SVG, and as PNG.
"use strict";
(() => {
  const studio = globalThis.studio;
  const [WIDTH, TALL, LEFT, HEAD] = [900, 130, 60, 22];

  const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

  function svg(title, note) {
    const panels = studio.plots.panels().filter((panel) => !panel.box.hidden && panel.curves.some((curve) => curve.points?.begins.length));
    const colour = studio.palette.colour;
    const { from, to } = studio.time;
    const x = (t) => LEFT + ((t - from) / (to - from)) * (WIDTH - LEFT - 12);
    const text = (left, y, value, look = "") => `<text x="${left.toFixed(1)}" y="${y.toFixed(1)}" fill="${colour("text")}" ${look}>${escaped(value)}</text>`;
    const parts = panels.map((panel, index) => {
      const top = 30 + index * (TALL + HEAD) + HEAD;
      const [least, most] = [panel.plot.scales.y.min, panel.plot.scales.y.max];
      const y = (value) => top + TALL - 14 - ((value - least) / (most - least)) * (TALL - 14);
      const { unit } = panel.curves[0];
      const [size, name] = studio.format.scale(most, unit);
      const grid = [0, 0.5, 1].map((share) => {
        const value = least + share * (most - least);
        return `<line x1="${LEFT}" x2="${WIDTH - 12}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}" stroke="${colour("grid")}"/>${text(LEFT - 6, y(value) + 4, Number((value / size).toPrecision(3)), 'text-anchor="end" font-size="10"')}`;
      });
      const keys = panel.curves.map((curve) => `<tspan fill="${colour(curve.colour)}" dx="12">${escaped(curve.label)}</tspan>`).join("");
      const head = `<text x="${LEFT}" y="${top - 6}" fill="${colour("text")}" font-weight="600">${escaped(panel.about.title)} <tspan fill="${colour("soft")}" font-weight="400">${escaped(name)}</tspan>${keys}</text>`;
      const id = `part-${index}`;
      const clip = `<clipPath id="${id}"><rect x="${LEFT}" y="${top}" width="${WIDTH - LEFT - 12}" height="${TALL - 13}"/></clipPath>`;
      return `${clip}${grid.join("")}${head}<g clip-path="url(#${id})">${panel.curves.filter((curve) => curve.points).map((curve) => drawn(curve, x, y, colour)).join("")}</g>`;
    });
    const height = 30 + panels.length * (TALL + HEAD) + 34;
    const axis = [0, 0.25, 0.5, 0.75, 1].map((share) => text(x(from + share * (to - from)), height - 26, studio.format.instant(from + share * (to - from), to - from), 'text-anchor="middle" font-size="10"'));
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12"><desc>${escaped(note)}</desc><rect width="${WIDTH}" height="${height}" fill="${colour("surface")}"/>${text(LEFT, 20, title, 'font-size="15" font-weight="600"')}${parts.join("\n")}${axis.join("")}${text(LEFT, height - 8, note, `font-size="9" fill-opacity="0.7"`)}</svg>\n`;
  }

  // A stair over the columns of a curve, with gaps where nothing is known; events are bars.
  function drawn(curve, x, y, colour) {
    const { begins, values, end } = curve.points;
    const place = (t, value) => `${x(t).toFixed(1)} ${y(value).toFixed(1)}`;
    const parts = [...begins].map((begin, index) => {
      const [value, until] = [values[index], begins[index + 1] ?? end];
      if (Number.isNaN(value)) return "";
      if (curve.kind === "count") return value ? `M${place((begin + until) / 2, 0)}L${place((begin + until) / 2, value)}` : "";
      const isStart = index === 0 || Number.isNaN(values[index - 1]);
      return `${isStart ? "M" : "L"}${place(begin, value)}L${place(until, value)}`;
    });
    const dash = curve.dash.length ? ` stroke-dasharray="${curve.dash.join(" ")}"` : "";
    return `<path d="${parts.join("")}" fill="none" stroke="${colour(curve.colour)}" stroke-width="${curve.kind === "count" ? 3 : 1.4}"${dash}/>`;
  }

  async function png(text) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  studio.figure = { svg, png };
})();
