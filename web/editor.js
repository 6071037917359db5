// The editor: a text area over a copy of its text, which has colours and marked problems; and the list of completions.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const COLOURED_MOST = 100_000; // Letters; longer texts have no colours.
  const TOKENS = /(?<comment>#[^\n]*)|(?<header>^[ \t]*\[[^\n]*\])|(?<string>"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(?<key>^[ \t]*[\w.-]+(?=\s*=))|(?<number>(?<![\w.-])[+-]?\d[\d_.eE+-]*(?![\w-]))/gm;
  let parts = null;
  let problems = [];
  let tell = null;
  let offered = null;

  // `onText` is called after each change, `onRun` by Ctrl+Enter.
  function mount(place, { onText, onRun }) {
    const lines = element("div", { class: "lab-lines", "aria-hidden": "true" });
    const copy = element("pre", { class: "lab-copy", "aria-hidden": "true" });
    const area = element("textarea", { class: "lab-area", spellcheck: "false", wrap: "off", autocapitalize: "off", autocomplete: "off", "aria-label": "Text of the scenario", "aria-describedby": "lab-keys" });
    const list = element("ul", { class: "lab-offers", role: "listbox", id: "lab-offers", hidden: true, "aria-label": "Completions" });
    const hint = element("p", { class: "lab-hidden", id: "lab-keys" }, "Ctrl+Space completes. Ctrl+Enter runs. Tab indents; Escape, then Tab leaves the text.");
    parts = { lines, copy, area, list };
    place.append(lines, element("div", { class: "lab-text" }, copy, area, list), hint);
    tell = onText;
    area.addEventListener("input", () => (changed(), offer(false)));
    area.addEventListener("scroll", follow);
    area.addEventListener("keydown", (event) => press(event, onRun));
    area.addEventListener("blur", () => setTimeout(close, 150));
    area.addEventListener("click", close);
  }

  const text = () => parts.area.value;

  function set(value) {
    if (value === parts.area.value) return;
    parts.area.value = value;
    close();
    changed();
    parts.area.scrollTop = parts.area.scrollLeft = 0;
  }

  function changed() {
    problems = [];
    paint();
    tell(text());
  }

  // Problems are those of the text that was checked; it may have changed since.
  function mark(found) {
    problems = found.filter((each) => each.start);
    paint();
  }

  const starts = (value) => [0, ...[...value.matchAll(/\n/g)].map((found) => found.index + 1)];

  function paint() {
    const value = text();
    const lines = starts(value);
    // Columns count characters, not the halves of a pair.
    const offset = ([line, column]) => {
      const from = lines[Math.min(line, lines.length) - 1] ?? 0;
      return from + [...value.slice(from, lines[line] ?? value.length)].slice(0, column - 1).join("").length;
    };
    const marks = problems.map((each) => ({ from: offset(each.start), to: Math.max(offset(each.end), offset(each.start) + 1), kind: each.severity }));
    const tokens = value.length > COLOURED_MOST ? [] : [...value.matchAll(TOKENS)].map((found) => ({ from: found.index, to: found.index + found[0].length, kind: Object.keys(found.groups).find((name) => found.groups[name] !== undefined) }));
    const cuts = [...new Set([0, value.length, ...marks.flatMap(({ from, to }) => [from, to]), ...tokens.flatMap(({ from, to }) => [from, to])])].filter((cut) => cut <= value.length).sort((a, b) => a - b);
    const pieces = [];
    let token = 0;
    for (let index = 0; index + 1 < cuts.length; index += 1) {
      const [from, to] = [cuts[index], cuts[index + 1]];
      while (token < tokens.length && tokens[token].to <= from) token += 1;
      const kind = tokens[token]?.from <= from ? tokens[token].kind : null;
      const mark = marks.find((each) => each.from <= from && each.to >= to);
      const piece = value.slice(from, to);
      pieces.push(kind || mark ? element("span", { class: [kind && `is-${kind}`, mark && `is-${mark.kind}`].filter(Boolean).join(" ") }, piece) : piece);
    }
    parts.copy.replaceChildren(...pieces, "\n");
    const wrong = new Map(problems.map((each) => [each.start[0], each]));
    parts.lines.replaceChildren(...lines.map((_, index) => element("span", wrong.has(index + 1) ? { class: `is-${wrong.get(index + 1).severity}`, title: wrong.get(index + 1).message } : {}, String(index + 1))));
    follow();
  }

  function follow() {
    const { area, copy, lines } = parts;
    copy.style.transform = `translate(${-area.scrollLeft}px, ${-area.scrollTop}px)`;
    lines.scrollTop = area.scrollTop;
  }

  function reveal(line, column = 1) {
    const from = starts(text())[line - 1] ?? 0;
    parts.area.focus();
    parts.area.setSelectionRange(from + column - 1, from + column - 1);
    parts.area.scrollTop = Math.max(0, (line - 4) * lineHeight());
  }

  const lineHeight = () => parseFloat(getComputedStyle(parts.area).lineHeight);

  // Replaces a part of the text as typing does, so that it can be undone.
  function replace(from, to, value) {
    parts.area.focus();
    parts.area.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, value)) {
      parts.area.setRangeText(value, from, to, "end");
      changed();
    }
  }

  function press(event, onRun) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return onRun();
    }
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return offer(true);
    }
    if (offered) {
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (move) {
        event.preventDefault();
        return show((offered.at + move + offered.found.length) % offered.found.length);
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        return take(offered.at);
      }
      if (event.key === "Escape") {
        event.preventDefault();
        return close();
      }
    }
    if (event.key === "Escape") parts.isLeaving = true;
    else if (event.key === "Tab" && !event.shiftKey && !parts.isLeaving) {
      event.preventDefault();
      replace(parts.area.selectionStart, parts.area.selectionEnd, "  ");
    } else if (event.key !== "Shift") parts.isLeaving = false;
  }

  // Names are offered while a word is typed, and where Ctrl+Space asks for them.
  function offer(isAsked) {
    const { selectionStart: caret, selectionEnd: end } = parts.area;
    const before = text().slice(0, caret);
    const found = caret === end ? studio.complete.offers(before) : null;
    const isWhole = found?.found.some((each) => each.text.trim() === before.slice(caret - found.length));
    if (!found || (!isAsked && (found.length === 0 || isWhole))) return close();
    offered = { ...found, at: 0, caret };
    show(0);
  }

  function show(at) {
    offered.at = at;
    const { list, area } = parts;
    list.replaceChildren(
      ...offered.found.map((each, index) => {
        const row = element("li", { role: "option", id: `lab-offer-${index}`, "aria-selected": index === at ? "true" : "false" }, element("b", {}, each.name), " ", element("span", {}, each.about));
        row.addEventListener("pointerdown", (event) => (event.preventDefault(), take(index)));
        return row;
      }),
    );
    list.hidden = false;
    area.setAttribute("aria-activedescendant", `lab-offer-${at}`);
    const before = text().slice(0, offered.caret - offered.length).split("\n");
    const [x, y] = [before.at(-1).length * letterWidth() - area.scrollLeft, before.length * lineHeight() - area.scrollTop];
    list.style.left = `${Math.max(0, Math.min(x, area.clientWidth - list.offsetWidth))}px`;
    list.style.top = `${y + list.offsetHeight > area.clientHeight && y > list.offsetHeight + lineHeight() ? y - lineHeight() - list.offsetHeight : y + 6}px`;
    list.children[at].scrollIntoView({ block: "nearest" });
  }

  let letter = 0;
  function letterWidth() {
    if (!letter) {
      const probe = document.createElement("canvas").getContext("2d");
      probe.font = getComputedStyle(parts.area).font;
      letter = probe.measureText("m").width;
    }
    return letter;
  }

  function take(at) {
    const { caret, length, found } = offered;
    close();
    replace(caret - length, caret, found[at].text);
    close();
  }

  function close() {
    offered = null;
    parts.list.hidden = true;
    parts.area.removeAttribute("aria-activedescendant");
  }

  studio.editor = { mount, text, set, mark, reveal, replace, starts };
})();
