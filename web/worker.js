// A worker with one instance of the module. It answers single requests, and carries out whole runs in slices.
"use strict";
const SLICE_MS = 40; // Between reports of progress; a message to stop is heard after a slice.
const EVENTS_FIRST = 20; // One event may carry thousands of packets.
let core = null;
let isStopping = false;
let events = EVENTS_FIRST; // Of the next slice.
let watched = null; // State of the run whose packets are asked for.

const read = (length) => new TextDecoder().decode(new Uint8Array(core.memory.buffer, core.text(), length));

function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  // Making room may move the memory.
  const place = core.request(bytes.length);
  new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
  return JSON.parse(read(core.answer()));
}

function slice() {
  const before = performance.now();
  const state = ask({ advance: { events } });
  const took = performance.now() - before;
  events = Math.max(1, Math.round(events * Math.min(4, SLICE_MS / Math.max(took, 1))));
  return state;
}

// `limit_ms` ends a run that takes longer: its results are those up to then.
async function run({ limit_ms: limit, ...scenario }, tell) {
  const begun = ask({ begin: scenario });
  if (begun.problems || begun.wrong) return begun;
  const started = performance.now();
  let state = { is_done: false };
  isStopping = false;
  while (!state.is_done) {
    state = slice();
    tell(state);
    const isLate = performance.now() - started > limit;
    if (!state.is_done && (isStopping || isLate)) {
      ask({ stop: {} });
      return { ...begun, tables: ask({ finish: {} }), cut: isStopping ? "stop" : "late" };
    }
    await new Promise((go) => setTimeout(go));
  }
  return { ...begun, tables: ask({ finish: {} }), took_ms: performance.now() - started };
}

// Later spans continue the run.
function packets({ begin, span }) {
  if (!watched) {
    const begun = ask({ begin });
    if (begun.problems || begun.wrong) return begun;
    watched = { is_done: false, simulated_s: 0 };
  }
  while (!watched.is_done && watched.simulated_s <= span.to_s) watched = slice();
  return ask({ packets: span });
}

onmessage = async ({ data: { id, module, request, whole, packets: watch, stop } }) => {
  if (stop) return void (isStopping = true);
  try {
    if (module) core = new WebAssembly.Instance(module, {}).exports;
    const answer = request ? ask(request) : whole ? await run(whole, (progress) => postMessage({ id, progress })) : watch ? packets(watch) : {};
    postMessage({ id, answer });
  } catch (error) {
    // The panic leaves its text; a module without memory has none.
    let text = "";
    try {
      text = read(core.panicked());
    } catch {
      // The module is beyond speech.
    }
    postMessage({ id, failed: text || String(error.message ?? error) });
  }
};
