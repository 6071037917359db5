// The tables of a run, with the meanings of their columns, and as CSV.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;
  const ROWS_MOST = 200; // On the page; files have all.
  const TITLES = { summary: "The run", flows: "Flows", subflows: "Subflows", links: "Links", drops: "Lost packets, by place and cause", completions: "Transfers, by size", datagrams: "Datagrams", probes: "Probes", media: "Media", terminals: "Terminals", modcods: "MODCODs", transfers: "Transfers" };
  // The first columns of a long table; the rest follow when asked for.
  const FIRST = { flows: 12, subflows: 12, links: 9 };

  const there = (tables) => Object.keys(TITLES).filter((name) => tables[name] && Object.values(studio.rows.columns(tables[name]))[0]?.length);

  function show(place, tables, dictionary) {
    place.replaceChildren(
      ...there(tables).map((name) => {
        const columns = Object.entries(studio.rows.columns(tables[name]));
        const first = FIRST[name] ?? columns.length;
        const box = element("div", { class: "lab-scroll", tabindex: "0", role: "region", "aria-label": TITLES[name] });
        const draw = (count) => box.replaceChildren(table(columns.slice(0, count), name, dictionary));
        const more = element("button", { type: "button", class: "studio-quiet", onclick: () => (draw(columns.length), more.remove()) }, `All ${columns.length} columns`);
        draw(first);
        return element("section", {}, element("div", { class: "lab-bar" }, element("h2", {}, TITLES[name]), columns.length > first ? more : null), box);
      }),
    );
  }

  function table(columns, name, dictionary) {
    const known = (column) => dictionary[name]?.find((each) => each.name === column) ?? { unit: "", meaning: "" };
    const count = columns[0][1].length;
    const heads = columns.map(([column]) => element("th", { scope: "col", title: known(column).meaning }, column.replace(/_(bps|bytes|s|pct)$/, "").replaceAll("_", " ")));
    const cell = (value, unit) => (typeof value === "string" ? element("td", { class: "is-text" }, value) : element("td", {}, unit === "%" && value !== null ? `${Number(value.toPrecision(4))} %` : studio.format.quantity(value, unit)));
    const body = Array.from({ length: Math.min(count, ROWS_MOST) }, (_, row) => element("tr", {}, ...columns.map(([column, values]) => cell(values[row], known(column).unit))));
    return element("table", { class: "lab-table" }, count > ROWS_MOST ? element("caption", {}, `The first ${ROWS_MOST} of ${count} rows; files have all.`) : null, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body));
  }

  // RFC 4180; missing values are empty.
  function csv(table) {
    const columns = Object.entries(studio.rows.columns(table));
    const cell = (value) => (value === null || value === undefined ? "" : /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    const rows = Array.from({ length: columns[0]?.[1].length ?? 0 }, (_, row) => columns.map(([, values]) => cell(values[row])).join(","));
    return [columns.map(([name]) => name).join(","), ...rows, ""].join("\r\n");
  }

  const json = (tables) => JSON.stringify(Object.fromEntries(there(tables).map((name) => [name, studio.rows.rows(tables[name])])), null, 1);

  studio.tables = { show, csv, json, there, TITLES };
})();
