// Where the views get data: from the server by HTTP, or from what a single file has inside.
"use strict";
(() => {
  const studio = globalThis.studio;

  // As Python's `pack_columns`: the number of columns, whether they have extremes, their width, the end of the last one,
  // then begins, values, and the extremes.
  function unpacked(buffer) {
    const view = new DataView(buffer);
    const count = view.getUint32(0, true);
    const floats = (place) => new Float32Array(buffer, 24 + 8 * count + 4 * count * place, count);
    const values = floats(0);
    const [least, greatest] = view.getUint32(4, true) ? [floats(1), floats(2)] : [values, values];
    return { begins: new Float64Array(buffer, 24, count), values, least, greatest, width: view.getFloat64(8, true), end: view.getFloat64(16, true) };
  }

  function http(base) {
    const kept = new Map();
    const root = base.endsWith("/") ? base : `${base}/`;
    async function get(run, what, asked = {}) {
      const parts = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== undefined && value !== null));
      const text = parts.toString();
      const response = await fetch(`${root}api/run/${run}/${what}${text ? `?${text}` : ""}`);
      if (response.ok) return response;
      // The page leaves a run that was removed, and says so once.
      const isGone = response.status === 404;
      if (isGone) document.dispatchEvent(new CustomEvent("studio-gone"));
      throw Object.assign(new Error((await response.text()).slice(0, 400)), { isGone });
    }
    const json = async (run, what, asked) => (await get(run, what, asked)).json();
    // A run does not change, so its large answers are asked for once.
    function once(run, what) {
      const key = `${run}/${what}`;
      if (!kept.has(key)) {
        const answer = json(run, what);
        kept.set(key, answer);
        answer.catch(() => kept.delete(key));
        if (kept.size > 24) kept.delete(kept.keys().next().value);
      }
      return kept.get(key);
    }
    return {
      isLive: true,
      meta: (run) => once(run, "meta"),
      network: (run) => once(run, "network"),
      sky: (run) => once(run, "sky"),
      flows: (run, asked) => json(run, "flows", asked),
      differences: (run, pins) => json(run, "differences", { others: pins.join(",") }),
      land: async () => (await fetch(`${root}vendor/world-atlas/land-110m.json`)).json(),
      keyframes: async (run) => (await get(run, "keyframes")).arrayBuffer(),
      coverage: (run, asked) => json(run, "coverage", asked),
      delays: (run, asked) => json(run, "delays", asked),
      series: async (run, asked) => unpacked(await (await get(run, "series", asked)).arrayBuffer()),
      at: (run, t) => json(run, "at", { t }),
      why: (run, asked) => json(run, "why", asked),
      spent: (run, asked) => json(run, "spent", asked),
      hasPackets: () => true,
      spanAt: (meta, { t, length }) => [Math.max(0, t - length / 2), Math.min(meta.duration_s, t + length / 2)],
      packets: (run, asked) => json(run, "packets", asked),
    };
  }

  async function unzipped(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  // `blobs` are gzip in base64 by name: RUN/meta, RUN/series/NAME/OF and so on.
  function embedded(blobs) {
    const kept = new Map();
    const absent = (what) => Promise.reject(new Error(`${what} is not in this file; open the run in bentpipe studio`));
    function content(name) {
      if (!Object.hasOwn(blobs, name)) return absent(name);
      if (!kept.has(name)) kept.set(name, unzipped(blobs[name]));
      return kept.get(name);
    }
    const json = async (name) => JSON.parse(new TextDecoder().decode(await content(name)));
    const parsed = new Map();
    const once = (name) => parsed.get(name) || (parsed.set(name, json(name)), parsed.get(name));
    const has = (name) => Object.hasOwn(blobs, name);
    // The spans of `run` that have packets: what is drawn depends on them.
    let spans = {};
    once("run/spans").then((found) => (spans = found), () => {});
    const spanOf = ({ flow, from, to }) => (spans[flow] || []).findIndex(([start, end]) => start <= from + 1e-9 && end >= to - 1e-9);
    return {
      isLive: false,
      has,
      meta: (run) => once(`${run}/meta`),
      network: (run) => once(`${run}/network`),
      sky: (run) => once(`${run}/sky`),
      flows: (run) => once(`${run}/flows`),
      differences: async (run, pins) => {
        const all = await once(`${run}/differences`);
        return pins.map((pin) => all[pin]);
      },
      land: () => once("land"),
      keyframes: (run) => content(`${run}/keyframes`),
      coverage: () => absent("coverage"),
      delays: () => absent("delays"),
      async series(run, { name, of, from, to, columns }) {
        const whole = unpacked(await content(`${run}/series/${name}/${of}`));
        const meta = await once(`${run}/meta`);
        return studio.curves.cut(whole, meta.series.find((each) => each.name === name).kind, from, to, columns);
      },
      at: () => absent("an exact value"),
      async why(run, { flow, t }) {
        const told = await once(`${run}/why/${flow}`);
        const step = Math.min(Math.floor(t / told.step_s + 1e-9), told.moments.length - 1);
        return { flow, t: step * told.step_s, sentences: told.moments[step].map((index) => told.sentences[index]), happenings: [] };
      },
      spent: (run, { flow }) => once(`${run}/spent/${flow}`),
      hasPackets: (_, asked) => spanOf(asked) >= 0,
      // The part of the next span that there is.
      spanAt(_, { flow, t, length }) {
        const far = ([start, end]) => Math.max(start - t, t - end, 0);
        const span = [...(spans[flow] || [])].sort((one, other) => far(one) - far(other))[0];
        if (!span) return null;
        const start = Math.min(Math.max(t - length / 2, span[0]), Math.max(span[0], span[1] - length));
        return [start, Math.min(start + length, span[1])];
      },
      packets(run, asked) {
        const span = spanOf(asked);
        return span >= 0 ? once(`${run}/packets/${asked.flow}/${span}`) : absent(`packets from ${asked.from} s to ${asked.to} s`);
      },
    };
  }

  // Index of the first time that is not before t.
  function lower(times, t) {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  studio.http = http;
  studio.embedded = embedded;
  studio.lower = lower;
})();
