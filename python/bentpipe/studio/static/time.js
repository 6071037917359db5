// The one state of the view: run, moment, visible part, flow. Views listen; only `set` changes it.
"use strict";
(() => {
  // The first script makes the place of all others.
  /** @type {any} */
  const studio = {};
  globalThis.studio = studio;
  const NAMES = ["run", "isDraft", "pin", "t", "from", "to", "flow", "link", "duration", "playing", "view", "scenario"];
  const IN_URL = ["scenario", "run", "pin", "t", "from", "to", "view"];
  const REST_MS = 150; // Without a move, the handle is at rest.
  const PLAY_S = 40; // Seconds that the visible part takes.
  const state = { run: null, isDraft: false, pin: null, t: 0, from: 0, to: 1, flow: null, link: null, duration: 1, playing: false, view: null, scenario: null };
  const listeners = new Set();
  let changed = new Set();
  let frame = 0;
  let before = 0;

  const stays = () => globalThis.matchMedia && matchMedia("(prefers-reduced-motion: reduce)").matches;
  const within = (value, low, high) => Math.min(Math.max(value, low), high);

  function set(changes) {
    const next = { ...state, ...changes };
    const isNewLength = next.duration !== state.duration;
    if (changes.from === null || changes.to === null || (isNewLength && !("from" in changes))) [next.from, next.to] = [0, next.duration];
    next.from = within(next.from, 0, next.duration);
    next.to = within(next.to, 0, next.duration);
    if (!(next.to > next.from)) [next.from, next.to] = [0, next.duration];
    next.t = within(Number.isFinite(next.t) ? next.t : 0, 0, next.duration);
    for (const name of NAMES) {
      if (next[name] === state[name]) continue;
      state[name] = next[name];
      changed.add(name);
    }
    if (changed.size && !frame) frame = requestAnimationFrame(tell);
  }

  function tell() {
    const names = changed;
    changed = new Set();
    frame = 0;
    for (const listener of listeners) {
      try {
        listener(state, names);
      } catch (error) {
        console.error(error);
      }
    }
  }

  function on(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  function play() {
    // Motion that goes on by itself is what such readers asked not to have; the keys still move the handle.
    if (state.playing || stays()) return;
    set({ playing: true, t: state.t >= state.to || state.t < state.from ? state.from : state.t });
    before = performance.now();
    requestAnimationFrame(advance);
  }

  function advance(now) {
    if (!state.playing) return;
    const t = state.t + ((state.to - state.from) / PLAY_S) * Math.max(0, now - before) / 1000;
    before = now;
    set(t >= state.to ? { t: state.to, playing: false } : { t });
    requestAnimationFrame(advance);
  }

  const pause = () => set({ playing: false });

  // The address has what a reload or a second tab needs. A draft is made again from its scenario. Another scenario, run,
  // pinned run or view is a new entry of the history; the handle and the visible part change the entry.
  const ENTRY = ["scenario", "run", "pin", "view"];
  let going = null; // The entry that the server was asked for, until it has answered.
  const entryOf = (search) => ENTRY.map((name) => new URLSearchParams(search).get(name) || "").join("\n");

  function onBack(go) {
    addEventListener("popstate", () => {
      going = { entry: entryOf(location.search), isAnswered: false };
      const asked = new URLSearchParams(location.search);
      go(Object.fromEntries(ENTRY.map((name) => [name, asked.get(name) || ""])));
      const [t, from, to] = ["t", "from", "to"].map((name) => (asked.has(name) ? Number(asked.get(name)) : null));
      set({ t: t ?? 0, from, to });
    });
  }

  // The server has shown what it could of the entry.
  function arrive() {
    if (going) going.isAnswered = true;
    changed.add("view");
    if (!frame) frame = requestAnimationFrame(tell);
  }

  function keepInUrl() {
    const asked = new URLSearchParams(location.search);
    const given = {};
    for (const name of IN_URL) if (asked.has(name)) given[name] = ["t", "from", "to"].includes(name) ? Number(asked.get(name)) : asked.get(name);
    let later = 0;
    const write = () => {
      const parts = new URLSearchParams(location.search);
      for (const name of IN_URL) {
        const value = state[name];
        const isDefault = value === null || (name === "run" && state.isDraft) || (name === "from" && value === 0) || (name === "to" && value === state.duration) || (name === "t" && value === 0);
        if (isDefault) parts.delete(name);
        else parts.set(name, typeof value === "number" ? String(Number(value.toFixed(6))) : value);
      }
      const text = parts.toString();
      const entry = entryOf(`?${text}`);
      // The address is ahead of the page, which shows a part of the entry.
      if (going && entry !== going.entry && !going.isAnswered) return;
      const isChange = Boolean(going) || history.state?.isStudio !== true || entry === entryOf(location.search);
      going = null;
      const act = isChange ? "replaceState" : "pushState";
      history[act]({ isStudio: true }, "", location.pathname + (text ? `?${text}` : "") + location.hash);
    };
    on((_, names) => {
      if (!IN_URL.some((name) => names.has(name))) return;
      clearTimeout(later);
      later = setTimeout(write, 200); // Browsers refuse a hundred of these in half a minute.
    });
    return given;
  }

  // Tests wait for `ready`: everything that was asked for has been drawn.
  let open = 0;
  let isBegun = false;
  const waiting = new Map();
  async function pending(work) {
    open += 1;
    try {
      return await work;
    } catch (error) {
      report(error);
    } finally {
      open -= 1;
      isBegun = true;
    }
  }

  // Does the work once nothing has asked for it again for a while.
  function atRest(name, work, after_ms = REST_MS) {
    clearTimeout(waiting.get(name));
    waiting.set(name, setTimeout(() => (waiting.delete(name), pending(work())), after_ms));
  }

  function report(error) {
    console.warn(error);
    if (!error.isGone) document.dispatchEvent(new CustomEvent("studio-error", { detail: String(error.message || error) }));
  }

  // Numbers for tests: pictures differ with fonts.
  studio.state = () => {
    const views = {};
    for (const [name, view] of Object.entries(studio)) if (view && typeof view.report === "function") views[name] = view.report();
    return { ...state, ...views };
  };
  Object.defineProperty(studio, "ready", { get: () => isBegun && !open && !frame && !waiting.size });
  Object.assign(studio, { pending, atRest, report });
  studio.time = { set, on, play, pause, keepInUrl, onBack, arrive, stays };
  for (const name of NAMES) Object.defineProperty(studio.time, name, { get: () => state[name], enumerable: true });
  Object.defineProperty(studio.time, "state", { get: () => state });
})();
