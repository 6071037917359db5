// Numbers and colours as the reader sees them: SI prefixes, and the palette of Okabe and Ito with dashes.
"use strict";
(() => {
  const studio = globalThis.studio;
  const PREFIXES = {
    "bit/s": [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
    B: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
  };
  // Names of colours that the style sheet has for light and dark; after seven, dashes tell curves apart.
  const CURVES = ["blue", "vermilion", "green", "purple", "orange", "sky", "ink", "blue"];
  const DASHES = [[], [], [], [], [], [], [], [2, 3]];
  // A cause of loss has its colour in all runs and views. Causes of one nature, such as all kinds of full queues, are near.
  const CAUSES = {
    "queue-overflow": "vermilion", "push-out": "vermilion", "early-drop": "orange", "forced-drop": "orange",
    "bit-error": "blue", "link-loss": "blue", "acm-outage": "sky", "no-waveform": "sky", "access-collision": "sky",
    outage: "purple", handover: "green", "route-missing": "green",
    "too-big": "ink", "no-listener": "ink", policy: "ink", policed: "ink",
  };
  // A congestion control has its colour in all runs, views and figures; as in Python's `plot.style`.
  const SENDERS = { cubic: "blue", reno: "vermilion", bbr3: "green", hybla: "purple", vegas: "orange", bbr1: "sky", westwood: "ink" };
  const PINNED = [[6, 3], [2, 3], [9, 3, 2, 3], [1, 2]]; // Dashes of pinned runs.
  const LINKS = ["purple", "sky", "orange", "green", "blue", "vermilion", "ink", "purple"];

  // Divisor and unit in which a number of this size is easy to read.
  function scale(largest, unit) {
    const prefixes = PREFIXES[unit] || [[1, unit === "1" ? "" : unit]];
    if (!(largest > 0)) return unit === "s" ? prefixes[0] : prefixes[prefixes.length - 1];
    return prefixes.find(([size]) => largest >= 0.9995 * size) || prefixes[prefixes.length - 1];
  }

  function digits(value) {
    const size = Math.abs(value);
    if (size >= 1000 || (Number.isInteger(value) && size >= 100)) return 0;
    return size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  }

  function quantity(value, unit) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (value === 0) return `0 ${scale(0, unit)[1]}`.trim();
    if (unit === "1") return Number.isInteger(value) ? String(value) : value.toPrecision(4);
    const [size, name] = scale(Math.abs(value), unit);
    return `${(value / size).toFixed(digits(value / size))} ${name}`;
  }

  // An instant, with the digits that a visible part of this length can show.
  function instant(t, span) {
    const places = span >= 20 ? 1 : span >= 2 ? 2 : span >= 0.2 ? 3 : span >= 0.02 ? 4 : 6;
    return `${t.toFixed(places)} s`;
  }

  // The width of a column, which is 1, 2 or 5 times a power of ten.
  function width(seconds) {
    const [size, name] = scale(seconds, "s");
    return `${Number((seconds / size).toPrecision(3))} ${name}`;
  }

  let probe = null;
  function colour(name) {
    probe = probe || getComputedStyle(document.documentElement);
    return probe.getPropertyValue(`--studio-${name}`).trim() || "#888";
  }

  // A change of the scheme draws everything again.
  const repaints = new Set();
  const repaint = () => repaints.forEach((draw) => draw());
  new MutationObserver(repaint).observe(document.documentElement, { attributes: true, attributeFilter: ["data-scheme"] });
  if (globalThis.matchMedia) matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

  // Elements hold foreign text as text only.
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  studio.letters = 1; // Size of letters in pictures; an audience needs larger ones.
  studio.format = { quantity, instant, scale, width };
  studio.palette = { colour, CURVES, DASHES, CAUSES, SENDERS, PINNED, LINKS, onRepaint: (draw) => repaints.add(draw) };
  studio.element = element;
})();
