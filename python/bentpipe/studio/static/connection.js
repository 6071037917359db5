// The connection to the server: `connected`, `waiting` for it, or `ended`. Keeps the text that the server does not have.
"use strict";
(() => {
  const studio = globalThis.studio;
  const KEY = "bentpipe-unsaved";
  const ANSWER_MS = 3000; // A server of this machine answers sooner, unless it is suspended.
  const LOOK_MS = 1000;
  // Parts that do nothing without the server. Text, plots, handle and reasons go on.
  const NEEDS_SERVER = ".page-bar > :not(h1), .page-tools, .page-settings, :is(.page-experiment, .page-library) button, .page-fields, .page-problems, .page-origin, .page-offer";
  const SAID = {
    waiting: "The connection to the studio is interrupted. Type on: your text is kept, and the page goes on when the studio answers.",
    ended: "The studio has ended, and with it the runs that were not finished. Start bentpipe studio again: finished runs are in the library, and it offers the unsaved text that it had.",
  };
  let state = "connected";
  let hasUnsaved = false;
  let left = kept(); // What an earlier page of this tab has left, until the server has it.
  let name = null;
  let looking = 0;
  const box = document.createElement("div");

  const editor = () => /** @type {HTMLElement | null} */ (document.querySelector(".page-editor"));
  // The document of CodeMirror: the page has only the visible lines.
  const text = () => (editor() ? getElement(Number(editor().id.slice(1)))?.editor?.state.doc.toString() : undefined);

  function kept() {
    try {
      return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
    } catch {
      return {};
    }
  }

  function set(next) {
    if (next === state) return;
    state = next;
    document.body.dataset.connection = state;
    const parts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(NEEDS_SERVER));
    for (const part of parts) part.inert = state !== "connected";
    box.hidden = state === "connected";
    if (!box.hidden) {
      box.querySelector("p").textContent = SAID[state];
      box.querySelector("button").hidden = state !== "ended";
    }
    remember();
  }

  // A port that refuses, or that has another server, means the end. Without a network, or without an answer, it may come back.
  async function ask() {
    if (navigator.onLine === false) return "waiting";
    try {
      const answer = await fetch("api/alive", { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) });
      return answer.ok ? "waiting" : "ended";
    } catch (error) {
      return error.name === "TimeoutError" || !navigator.onLine ? "waiting" : "ended";
    }
  }

  function look() {
    if (looking) return;
    const again = async () => {
      const found = await ask();
      looking = 0;
      if (globalThis.socket.connected) return;
      set(found);
      looking = setTimeout(again, LOOK_MS);
    };
    looking = setTimeout(again, 0);
    set("waiting");
  }

  function watch() {
    const socket = globalThis.socket;
    if (!socket) return void setTimeout(watch, 200);
    socket.on("disconnect", look);
    socket.on("connect_error", look);
    socket.on("connect", () => {
      clearTimeout(looking);
      looking = 0;
      set("connected");
    });
    addEventListener("offline", look);
    addEventListener("online", () => !socket.connected && socket.connect());
  }

  // What a reload would lose stays in this tab of the browser: a page that is loaded again offers it.
  function remember() {
    const now = text();
    if (now === undefined) return;
    const own = hasUnsaved || state !== "connected" ? { [name ?? editor().dataset.name]: now } : {};
    try {
      sessionStorage.setItem(KEY, JSON.stringify({ ...own, ...left }));
    } catch {
      // Without room or permission, the server has the text up to the last connection.
    }
  }

  // The server names the text that is shown, and tells whether it differs from its file.
  function guard(isOn, of) {
    [hasUnsaved, name] = [isOn, of];
    remember();
  }

  // Sends what an earlier page of this tab has left.
  function begin() {
    if (Object.keys(left).length) emitEvent("studio-unsaved", left);
    left = {};
    remember();
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text() ?? ""], { type: "text/plain" }));
    link.download = name && name.endsWith(".toml") ? name.split("/").pop() : `${name || "scenario"}.toml`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  box.className = "page-gone";
  box.setAttribute("role", "alert");
  box.hidden = true;
  const saving = Object.assign(document.createElement("button"), { type: "button", textContent: "Download the text" });
  saving.addEventListener("click", download);
  box.append(document.createElement("p"), saving);
  document.body.append(box);
  addEventListener("beforeunload", (event) => {
    remember();
    if (hasUnsaved) event.preventDefault();
  });
  addEventListener("pagehide", remember);
  setInterval(() => (hasUnsaved || state !== "connected") && remember(), LOOK_MS);
  watch();
  studio.connection = { begin, guard, get state() { return state; } };
})();
