"use strict";
(() => {
  const studio = (globalThis.studio = globalThis.studio || {});
  studio.share = { mount(element) { element.dataset.view = "share"; } };
})();
