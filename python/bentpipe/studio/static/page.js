// The page around the views: mounts them, and follows what the server tells it to show.
"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});
  let isBegun = false;

  // `places`: by name of a view, the id of its element.
  function begin(places, shown) {
    if (isBegun) return show(shown);
    isBegun = true;
    studio.source = studio.http(location.pathname);
    const asked = studio.time.keepInUrl();
    for (const [name, id] of Object.entries(places)) {
      const element = document.getElementById(id);
      const view = studio[name];
      if (element && view && view.mount) mounted(name, () => view.mount(element));
    }
    const { t, from, to } = asked;
    show(shown);
    watchConnection();
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

  // A server that has ended does not come back at this address.
  function watchConnection() {
    const socket = globalThis.socket;
    if (!socket) return;
    let timer = 0;
    const said = document.createElement("div");
    said.className = "studio-gone";
    said.setAttribute("role", "alert");
    said.hidden = true;
    said.textContent = "The studio has ended, and with it the runs that were not finished. Start bentpipe studio again: finished runs are kept in the library.";
    document.body.append(said);
    socket.on("disconnect", () => (timer = setTimeout(() => (said.hidden = false), 3000)));
    socket.on("connect", () => {
      clearTimeout(timer);
      said.hidden = true;
    });
  }

  studio.page = { begin, show };
})();
