// The sky of a place: satellites above the horizon, the least elevation, and the satellite that serves it.
"use strict";
(() => {
  const studio = globalThis.studio;
  const SIZE = 116;
  const RADIUS = 44;
  const WORDS = 30; // Height of the text below the plot.
  const GAP = 6;

  // The plot of the place at which the flow begins over the sky.
  function draw(element, sky, path, colour, family) {
    const name = sky.ends(studio.time.flow)?.[0];
    const place = sky.place(name);
    let canvas = element.querySelector("canvas");
    if (!canvas) {
      canvas = element.appendChild(document.createElement("canvas"));
      element.appendChild(document.createElement("p"));
      canvas.setAttribute("role", "img");
    }
    const ratio = (devicePixelRatio || 1) * studio.letters;
    if (canvas.width !== Math.round(SIZE * ratio)) canvas.width = canvas.height = Math.round(SIZE * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio, 0, 0, ratio, (SIZE / 2) * ratio, (SIZE / 2) * ratio);
    dial(context, colour, family, sky);
    const serving = path?.nodes[1];
    const used = stars(context, colour, sky, place, serving);
    const least = sky.constellations[0].elevation_min_deg;
    const text = `${used} ${used === 1 ? "satellite" : "satellites"} ${least === null ? "in reach" : `above ${least}°`} in ${name}`;
    const said = element.querySelector("p");
    if (said.textContent === text) return;
    said.textContent = text;
    canvas.setAttribute("aria-label", `Sky plot: ${text}`);
  }

  // Radius and middle of a globe in a picture of this size, so that the plot in its corner hides nothing of it.
  function room(width, height) {
    const dial = (RADIUS + 14) * studio.letters;
    const [x, y] = [width - (SIZE / 2) * studio.letters, height - (SIZE / 2 + WORDS) * studio.letters];
    const [across, down] = [x - GAP, y - height / 2];
    // With the globe at the left edge, both circles touch.
    const most = (across * across + down * down - dial * dial) / (2 * (across + dial));
    const radius = Math.max(40, Math.min(Math.min(width, height) / 2 - GAP, most));
    const away = Math.sqrt(Math.max(0, (radius + dial) ** 2 - down * down));
    return { radius, middle: [Math.max(radius + GAP, Math.min(width / 2, x - away)), height / 2] };
  }

  function dial(context, colour, font, sky) {
    context.beginPath();
    context.arc(0, 0, RADIUS, 0, 2 * Math.PI);
    context.fillStyle = colour("halo");
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = colour("text");
    context.stroke();
    const least = sky.constellations[0].elevation_min_deg;
    if (least !== null) {
      context.setLineDash([3, 3]);
      context.beginPath();
      context.arc(0, 0, RADIUS * (1 - least / 90), 0, 2 * Math.PI);
      context.stroke();
      context.setLineDash([]);
    }
    context.font = `10px ${font}`;
    context.fillStyle = colour("text");
    context.textAlign = "center";
    context.textBaseline = "middle";
    const far = RADIUS + 8;
    for (const [letter, x, y] of [["N", 0, -far], ["E", far, 0], ["S", 0, far], ["W", -far, 0]]) context.fillText(letter, x, y);
  }

  // Draws the satellites and returns how many can be used.
  function stars(context, colour, sky, place, serving) {
    let used = 0;
    const all = sky.positions;
    const [px, py, pz] = sky.position(place);
    const ground = px * px + py * py + pz * pz;
    for (let node = 0; node < sky.count; node++) {
      // Below the horizon, and cheap to see.
      if (all[3 * node] * px + all[3 * node + 1] * py + all[3 * node + 2] * pz < ground) continue;
      const [azimuth, elevation] = sky.seen(place, node);
      if (!(elevation > 0)) continue;
      const isUsed = reaches(sky, place, node, elevation);
      used += Number(isUsed);
      const away = RADIUS * (1 - elevation / 90);
      const [x, y] = [away * Math.sin((azimuth * Math.PI) / 180), -away * Math.cos((azimuth * Math.PI) / 180)];
      context.globalAlpha = isUsed || node === serving ? 1 : 0.35;
      context.fillStyle = colour(node === serving ? "path" : "satellite-0");
      context.beginPath();
      context.arc(x, y, node === serving ? 4 : 1.6, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    return used;
  }

  function reaches(sky, place, node, elevation) {
    const { elevation_min_deg: least, range_max_km: reach } = sky.constellationOf(node);
    return least !== null ? elevation >= least : sky.length([place, node]) <= reach;
  }

  // How far to the right a name at this height can be before the plot hides it.
  const edge = (width, height, y) => (y > height - (SIZE + WORDS) * studio.letters ? width - SIZE * studio.letters : width);

  studio.skyplot = { draw, room, edge, height: SIZE + WORDS };
})();
