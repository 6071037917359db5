"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});
  studio.why = { mount(element) { element.dataset.view = "why"; } };
})();
