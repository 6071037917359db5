"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});
  studio.packets = { mount(element) { element.dataset.view = "packets"; } };
})();
