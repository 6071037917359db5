"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});
  studio.plots = { mount(element) { element.dataset.view = "plots"; } };
})();
