// The sky of a scenario over time: where satellites and places are, and which path a flow takes. It draws nothing.
//
// Positions are km in the frame that turns with the Earth: x towards 0° north and east, z towards the north pole.
// Satellites have the numbers 0 to count - 1, in the order of the constellations; places follow.
"use strict";
(() => {
  const studio = globalThis.studio;
  const EARTH_KM = 6371.009;
  const EQUATOR_KM = 6378.137; // WGS 84.
  const FLATNESS = 0.00669437999; // Its squared eccentricity.
  const RADIANS = Math.PI / 180;

  class Sky {
    constructor(facts, buffer) {
      this.facts = facts;
      this.frames = new Int16Array(buffer);
      this.constellations = [];
      let first = 0;
      let offset = 0;
      for (const each of facts.constellations) {
        const count = each.names.length;
        this.constellations.push({ ...each, first, count, offset, angles: null });
        first += count;
        offset += 3 * count * each.keyframes;
      }
      this.count = first;
      this.positions = new Float64Array(3 * (first + facts.places.length));
      this.time = NaN;
    }

    // Moves everything to an instant.
    at(time) {
      if (time === this.time) return this;
      this.time = time;
      for (const each of this.constellations) this.#move(each, time);
      this.facts.places.forEach((place, index) => this.#put(place, this.count + index, time));
      return this;
    }

    // Between two keyframes a satellite goes along the great circle, and its height changes evenly.
    #move(each, time) {
      const { frames, positions } = this;
      const { count, scale_km: scale } = each;
      const passed = Math.max(0, time) / each.step_s;
      const frame = Math.min(Math.floor(passed), each.keyframes - 2);
      const share = Math.min(passed - frame, 1);
      const turned = this.facts.earth_rad_s * time;
      const [cos, sin] = [Math.cos(turned), Math.sin(turned)];
      const arcs = this.#arcs(each, frame);
      for (let index = 0; index < count; index++) {
        const from = each.offset + 3 * (frame * count + index);
        const to = from + 3 * count;
        const arc = arcs[3 * index];
        const [before, after] = [arcs[3 * index + 1], arcs[3 * index + 2]];
        const whole = Math.sin(arc);
        const [a, b] =
          arc > 1e-6 ? [Math.sin((1 - share) * arc) / whole, Math.sin(share * arc) / whole] : [1 - share, share];
        const length = scale * (before + share * (after - before));
        const [p, q] = before && after ? [(a * length) / before, (b * length) / after] : [0, 0];
        const x = p * frames[from] + q * frames[to];
        const y = p * frames[from + 1] + q * frames[to + 1];
        const at = 3 * (each.first + index);
        positions[at] = x * cos + y * sin;
        positions[at + 1] = y * cos - x * sin;
        positions[at + 2] = p * frames[from + 2] + q * frames[to + 2];
      }
    }

    // Of each satellite the angle between a keyframe and the next one, and both lengths. They hold for minutes of play.
    #arcs(each, frame) {
      if (each.angles?.frame === frame) return each.angles.values;
      const values = new Float64Array(3 * each.count);
      for (let index = 0; index < each.count; index++) {
        const from = each.offset + 3 * (frame * each.count + index);
        const to = from + 3 * each.count;
        const [a, b] = [this.frames.subarray(from, from + 3), this.frames.subarray(to, to + 3)];
        const [before, after] = [Math.hypot(...a), Math.hypot(...b)];
        const cos = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / (before * after);
        values.set([Number.isFinite(cos) ? Math.acos(Math.min(1, Math.max(-1, cos))) : 0, before, after], 3 * index);
      }
      each.angles = { frame, values };
      return values;
    }

    // Fixed places are given over the ellipsoid, moving ones as seen from the middle of the Earth.
    #put(place, node, time) {
      const height = place.height_km ?? 0;
      if (place.way) {
        const step = Math.min(Math.max(0, Math.round(time / place.way_step_s)), place.way.length / 2 - 1);
        const [east, north] = [place.way[2 * step] * RADIANS, place.way[2 * step + 1] * RADIANS];
        const across = (EARTH_KM + height) * Math.cos(north);
        const up = (EARTH_KM + height) * Math.sin(north);
        this.positions.set([across * Math.cos(east), across * Math.sin(east), up], 3 * node);
        return;
      }
      const [east, north] = [place.longitude_deg * RADIANS, place.latitude_deg * RADIANS];
      const radius = EQUATOR_KM / Math.sqrt(1 - FLATNESS * Math.sin(north) ** 2);
      const across = (radius + height) * Math.cos(north);
      const up = ((1 - FLATNESS) * radius + height) * Math.sin(north);
      this.positions.set([across * Math.cos(east), across * Math.sin(east), up], 3 * node);
    }

    position(node) {
      return this.positions.subarray(3 * node, 3 * node + 3);
    }

    // Longitude and latitude in degrees, height in km.
    coordinates(node) {
      const [x, y, z] = this.position(node);
      return [Math.atan2(y, x) / RADIANS, Math.atan2(z, Math.hypot(x, y)) / RADIANS, Math.hypot(x, y, z) - EARTH_KM];
    }

    name(node) {
      if (node >= this.count) return this.facts.places[node - this.count].place;
      const each = this.constellationOf(node);
      return each.names[node - each.first];
    }

    constellationOf(node) {
      return this.constellations.find((each) => node < each.first + each.count);
    }

    place(name) {
      return this.count + this.facts.places.findIndex((each) => each.place === name);
    }

    // The two places of a flow, or of the first one over this sky.
    ends(flow) {
      // A subflow, FLOW.SUBFLOW, has the places of its flow.
      const { flows } = this.facts;
      return flows[flow] ?? flows[String(flow).replace(/\.[^.]*$/, "")] ?? Object.values(flows)[0];
    }

    // The path of a flow at an instant; its nodes are empty while there is none.
    path(flow, time) {
      const [from, to] = this.ends(flow) ?? [];
      let found = null;
      for (const each of this.facts.paths) {
        if (each.from === from && each.to === to && each.time_s <= time) found = each;
      }
      return found;
    }

    // One-way delay of a flow's path in seconds, null without a path.
    delay(flow, time) {
      const path = this.path(flow, time);
      if (!path?.nodes.length) return null;
      const known = this.facts.delays.find((each) => each.from === path.from && each.to === path.to);
      let last = known.time_s.length - 1;
      while (last > 0 && known.time_s[last] > time) last--;
      const next = last + 1;
      // A change of the path between two looks is a step.
      if (known.time_s[last] < path.time_s) return path.delay_s;
      if (next >= known.time_s.length || known.time_s[next] >= path.end_s) return known.delay_s[last];
      const share = (time - known.time_s[last]) / (known.time_s[next] - known.time_s[last]);
      return known.delay_s[last] + share * (known.delay_s[next] - known.delay_s[last]);
    }

    // Sum of the straight lines between the nodes of a path.
    length(nodes) {
      let sum = 0;
      for (let index = 1; index < nodes.length; index++) {
        const [a, b] = [this.position(nodes[index - 1]), this.position(nodes[index])];
        sum += Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
      }
      return sum;
    }

    // Azimuth from north over east, and elevation, in degrees.
    seen(place, node) {
      const [x, y, z] = this.position(place);
      const [u, v, w] = this.position(node);
      const [dx, dy, dz] = [u - x, v - y, w - z];
      const [flat, radius] = [Math.hypot(x, y), Math.hypot(x, y, z)];
      const up = (dx * x + dy * y + dz * z) / radius;
      const east = (dy * x - dx * y) / flat;
      const north = (dz * flat * flat - z * (dx * x + dy * y)) / (flat * radius);
      return [Math.atan2(east, north) / RADIANS, Math.atan2(up, Math.hypot(east, north)) / RADIANS];
    }

    // Angle at the middle of the Earth in degrees between a satellite and the edge of its footprint.
    footprint(node) {
      const { elevation_min_deg: least, range_max_km: reach } = this.constellationOf(node);
      const radius = Math.hypot(...this.position(node));
      if (least !== null) {
        const mask = least * RADIANS;
        return (Math.acos((EARTH_KM / radius) * Math.cos(mask)) - mask) / RADIANS;
      }
      const cos = (EARTH_KM ** 2 + radius ** 2 - reach ** 2) / (2 * EARTH_KM * radius);
      return Math.acos(Math.min(1, Math.max(EARTH_KM / radius, cos))) / RADIANS;
    }

    // Where the Sun is overhead: longitude and latitude in degrees, to half a degree (Astronomical Almanac, low precision).
    sun(time) {
      const date = new Date(Date.parse(this.facts.epoch) + 1000 * time);
      const days = date.getTime() / 86_400_000 - 10_957.5;
      const anomaly = (357.528 + 0.9856003 * days) * RADIANS;
      const mean = 280.46 + 0.9856474 * days;
      const longitude = (mean + 1.915 * Math.sin(anomaly) + 0.02 * Math.sin(2 * anomaly)) * RADIANS;
      const tilt = 23.439 * RADIANS;
      const north = Math.asin(Math.sin(tilt) * Math.sin(longitude)) / RADIANS;
      const ascension = Math.atan2(Math.cos(tilt) * Math.sin(longitude), Math.cos(longitude)) / RADIANS;
      const late = ((((mean - ascension) % 360) + 540) % 360) - 180;
      const hours = date.getUTCHours() + date.getUTCMinutes() / 60 + date.getUTCSeconds() / 3600;
      return [(((12 - hours) * 15 - late + 540) % 360) - 180, north];
    }
  }

  // The sky of the run that is shown. It is asked for once.
  const known = new Map();
  studio.skyOf = (run) => {
    if (!known.has(run)) {
      const asked = studio.source.meta(run).then((meta) => {
        if (!meta.has_sky) throw new Error("the scenario has no sky");
        return Promise.all([studio.source.sky(run), studio.source.keyframes(run)]);
      });
      known.set(run, asked.then(([facts, buffer]) => new Sky(facts, buffer)));
      known.get(run).catch(() => known.delete(run));
    }
    return known.get(run);
  };
  studio.Sky = Sky;
  studio.EARTH_KM = EARTH_KM;
})();
