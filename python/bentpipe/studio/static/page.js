// The page around the views: mounts them, and follows what the server tells it to show.
"use strict";
(() => {
  const studio = globalThis.studio;
  const LETTERS = 1.6; // As in page.css.
  let isBegun = false;

  // `places`: by name of a view, the id of its element.
  function begin(places, shown) {
    if (isBegun) return show(shown);
    isBegun = true;
    studio.connection.begin();
    studio.source = studio.http(location.pathname);
    const asked = studio.time.keepInUrl();
    for (const [name, id] of Object.entries(places)) {
      const element = document.getElementById(id);
      const view = studio[name];
      if (element && view && view.mount) mounted(name, () => view.mount(element));
    }
    const { t, from, to } = asked;
    show(shown);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tellScheme);
    tellScheme();
    // Somebody who comes back may have changed the file elsewhere.
    addEventListener("focus", () => emitEvent("studio-focus"));
    document.addEventListener("studio-unpin", (/** @type {CustomEvent} */ event) => emitEvent("studio-unpin", { run: event.detail }));
    document.addEventListener("studio-gone", () => emitEvent("studio-gone"));
    studio.time.onBack((asked) => emitEvent("studio-address", asked));
    const wide = matchMedia("(min-width: 1900px)");
    const tellWidth = () => emitEvent("studio-wide", { isWide: wide.matches });
    wide.addEventListener("change", tellWidth);
    if (wide.matches) tellWidth();
    const editor = document.querySelector(".page-editor");
    if (editor) new MutationObserver(nameEditor).observe(editor, { attributes: true, childList: true, subtree: true });
    nameEditor();
    if (shown.run && Number.isFinite(t)) later({ t, ...(Number.isFinite(from) && Number.isFinite(to) ? { from, to } : {}) });
  }

  function mounted(name, mount) {
    try {
      mount();
    } catch (error) {
      console.error(`${name}: ${error}`);
    }
  }

  // The length of a run is known when its facts are here; a moment before that would be cut off.
  function later(changes) {
    const end = studio.time.on((_, names) => {
      if (!names.has("duration")) return;
      end();
      studio.time.set(changes);
    });
  }

  function show(changes) {
    studio.time.set(changes);
  }

  // The handle and the visible part in a run whose facts may still be on their way.
  async function moment(run, changes) {
    const { duration_s: duration } = await studio.source.meta(run);
    if (studio.time.run === run) studio.time.set({ duration, ...changes });
  }

  // A file of the server about the run that is shown; `visible` asks for the part that the plots show.
  function download(what, { visible, ...asked }) {
    const { run, from, to } = studio.time;
    const parts = new URLSearchParams(visible ? { ...asked, from, to } : asked);
    const link = document.createElement("a");
    link.href = `api/run/${run}/${what}?${parts}`;
    link.download = "";
    link.click();
  }

  // A picture that a view draws by itself.
  function picture(name) {
    const text = studio[name] && studio[name].svg ? studio[name].svg() : null;
    if (!text) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = `${name}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // For an audience: without the panels for work, and with larger letters. Escape ends it.
  function present() {
    const isOn = document.body.classList.toggle("page-present");
    studio.letters = isOn ? LETTERS : 1;
    studio.plots.dress();
    for (const name of ["globe", "topology"]) studio[name].draw();
    if (isOn) document.addEventListener("keydown", leave);
    else document.removeEventListener("keydown", leave);
  }

  function leave(event) {
    if (event.key === "Escape") present();
  }

  // `auto`, `dark` or `light`.
  function scheme(name) {
    const root = document.documentElement;
    if (name === "auto") delete root.dataset.scheme;
    else root.dataset.scheme = name;
    Quasar.Dark.set(name === "auto" ? "auto" : name === "dark");
    tellScheme();
  }

  // The list of choices whose search field has an event.
  const choicesOf = ({ target }) => target.matches?.(".q-select input[type=search]") && getElement(Number(target.id.slice(1)))?.$refs.qRef;

  // Enter chooses the first match of a search. Without this, a match must be marked by an arrow key.
  function choose(event) {
    const choices = event.key === "Enter" && event.target.value && choicesOf(event);
    if (choices && choices.getOptionIndex() < 0) choices.moveOptionSelection(1, true);
  }

  // A new search replaces the text of the choice.
  function replace(event) {
    if (event.target.value && event.target.value === choicesOf(event)?.modelValue?.label) event.target.select();
  }

  // CodeMirror writes its attributes anew when it is dressed in other colours.
  function nameEditor() {
    const content = document.querySelector(".page-editor .cm-content");
    const scroller = /** @type {HTMLElement | null} */ (document.querySelector(".page-editor .cm-scroller"));
    if (content && !content.hasAttribute("aria-label")) {
      content.setAttribute("aria-label", "Text of the scenario");
      content.setAttribute("aria-description", "Tab indents. Escape, then Tab leaves the text.");
    }
    if (scroller && scroller.tabIndex < 0) scroller.tabIndex = 0;
  }

  // Marks and tips are those of one text. If the user has typed on, the next check sends others.
  function mark(id, text) {
    const editor = getElement(id);
    if (editor.editor.state.doc.toString() !== text) return;
    editor.setDecorations(editor.decorations);
    editor.setLineTooltips(editor.lineTooltips);
  }

  // The editor and the charts of the server have their own colours.
  const tellScheme = () => setTimeout(() => emitEvent("studio-dark", { isDark: Quasar.Dark.isActive }), 0);

  document.addEventListener("keydown", choose, true);
  document.addEventListener("click", replace);
  studio.page = { begin, arrive: () => studio.time.arrive(), guard: (...given) => studio.connection.guard(...given), mark, show, moment, download, picture, present, scheme };
})();
