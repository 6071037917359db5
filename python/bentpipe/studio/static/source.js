// Where the views get data: from the server by HTTP, or from what a single file has inside.
"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});

  // Two counters, then times as float64 and values as float32.
  function unpacked(buffer) {
    const count = new DataView(buffer).getUint32(0, true);
    return { times: new Float64Array(buffer, 8, count), values: new Float32Array(buffer, 8 + 8 * count, count) };
  }

  function http(base) {
    const kept = new Map();
    const root = base.endsWith("/") ? base : `${base}/`;
    async function get(run, what, asked = {}) {
      const parts = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== undefined && value !== null));
      const text = parts.toString();
      const response = await fetch(`${root}api/run/${run}/${what}${text ? `?${text}` : ""}`);
      if (!response.ok) throw new Error(`${what}: ${response.status} ${(await response.text()).slice(0, 400)}`);
      return response;
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
      land: async () => (await fetch(`${root}vendor/world-atlas/land-110m.json`)).json(),
      keyframes: async (run) => (await get(run, "keyframes")).arrayBuffer(),
      coverage: (run, asked) => json(run, "coverage", asked),
      series: async (run, asked) => unpacked(await (await get(run, "series", asked)).arrayBuffer()),
      at: (run, t) => json(run, "at", { t }),
      why: (run, asked) => json(run, "why", asked),
      spent: (run, asked) => json(run, "spent", asked),
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
    return {
      isLive: false,
      has,
      meta: (run) => once(`${run}/meta`),
      network: (run) => once(`${run}/network`),
      sky: (run) => once(`${run}/sky`),
      land: () => once("land"),
      keyframes: (run) => content(`${run}/keyframes`),
      coverage: () => absent("coverage"),
      async series(run, { name, of, from, to }) {
        const { times, values } = unpacked(await content(`${run}/series/${name}/${of}`));
        let first = lower(times, from);
        if (first > 0) first -= 1;
        const last = Math.min(lower(times, to) + 1, times.length);
        return { times: times.subarray(first, last), values: values.subarray(first, last) };
      },
      at: () => absent("an exact value"),
      async why(run, { flow, t }) {
        const told = await once(`${run}/why/${flow}`);
        const step = Math.min(Math.floor(t / told.step_s + 1e-9), told.moments.length - 1);
        return { flow, t: step * told.step_s, sentences: told.moments[step].map((index) => told.sentences[index]), happenings: [] };
      },
      spent: (run, { flow }) => once(`${run}/spent/${flow}`),
      async packets(run, { flow, from, to }) {
        const spans = has(`${run}/packets/${flow}`) ? await once(`${run}/packets/${flow}`) : [];
        const span = spans.find((each) => each.start <= from + 1e-9 && each.end >= to - 1e-9);
        return span || absent(`packets from ${from} s to ${to} s`);
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
