// The list of keys and moves of the pointer: `?`, or the button below the plots.
"use strict";
(() => {
  const studio = globalThis.studio;
  const ROWS = [
    ["Space", "Play, and stop"],
    ["n", "Next handover; without one, next change of the path"],
    ["l", "Next loss"],
    ["← → PgUp PgDn Home End", "Move the handle that has the focus; Shift: 10 times as far, Alt: a tenth"],
    ["Drag in a plot", "Zoom all plots; a double click shows the whole run"],
    ["Click in a plot", "Move the handle"],
    ["← → ↑ ↓ + −", "Turn and zoom the globe that has the focus"],
    ["?", "These keys; Escape closes them"],
  ];
  // The page has an editor; a shared file has none.
  const OF_PAGE = [
    ["Ctrl+S", "Save the text, in the editor"],
    ["Ctrl+Enter", "Run the text, in the editor"],
    ["Escape", "End Present"],
  ];
  const box = document.createElement("dialog");

  function row([key, what]) {
    const cells = [document.createElement("dt"), document.createElement("dd")];
    [cells[0].textContent, cells[1].textContent] = [key, what];
    return cells;
  }

  function show() {
    if (box.open) return;
    const list = document.createElement("dl");
    list.append(...[...ROWS, ...(document.querySelector(".page-editor") ? OF_PAGE : [])].flatMap(row));
    const close = document.createElement("button");
    Object.assign(close, { type: "button", textContent: "Close", onclick: () => box.close() });
    box.replaceChildren(list, close);
    if (!box.isConnected) document.body.append(box);
    box.showModal();
  }

  box.className = "studio-keys";
  box.setAttribute("aria-label", "Keys");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || studio.isTyping(event.target)) return;
    event.preventDefault();
    show();
  });
  studio.keys = { show };
})();
