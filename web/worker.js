// A worker with one instance of the module. It answers single requests, and carries out whole runs in slices.
"use strict";
const SLICE_MS = 40; // Between reports of progress; a message to stop is heard after a slice.
const EVENTS_FIRST = 20; // One event may carry thousands of packets.
let core = null;
let isStopping = false;

const read = (length) => new TextDecoder().decode(new Uint8Array(core.memory.buffer, core.text(), length));

function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  // Making room may move the memory.
  const place = core.request(bytes.length);
  new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
  return JSON.parse(read(core.answer()));
}

// `limit_ms` ends a run that takes longer: its results are those up to then.
async function run({ limit_ms: limit, ...scenario }, tell) {
  const begun = ask({ begin: scenario });
  if (begun.problems || begun.wrong) return begun;
  const started = performance.now();
  let events = EVENTS_FIRST;
  let state = { is_done: false };
  isStopping = false;
  while (!state.is_done) {
    const before = performance.now();
    state = ask({ advance: { events } });
    const took = performance.now() - before;
    events = Math.max(1, Math.round(events * Math.min(4, SLICE_MS / Math.max(took, 1))));
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

onmessage = async ({ data: { id, module, request, whole, stop } }) => {
  if (stop) return void (isStopping = true);
  try {
    if (module) core = new WebAssembly.Instance(module, {}).exports;
    const answer = request ? ask(request) : whole ? await run(whole, (progress) => postMessage({ id, progress })) : {};
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
