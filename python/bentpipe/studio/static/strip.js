"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});
  studio.strip = { mount(element) { element.dataset.view = "strip"; } };
})();
