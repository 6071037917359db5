// Completion of the text of a scenario: keys, values and tables that the schema knows at the caret.
"use strict";
(() => {
  const studio = globalThis.studio;
  const MOST = 40;
  let root = null;

  const begin = (schema) => (root = schema);
  const split = (path) => [...path.matchAll(/"([^"]*)"|'([^']*)'|([^.\s]+)/g)].map((found) => found[1] ?? found[2] ?? found[3]);

  // A schema and all that it refers to.
  function whole(schema, found = []) {
    if (!schema || typeof schema !== "object" || found.includes(schema)) return found;
    found.push(schema);
    if (schema.$ref) whole(root.$defs[schema.$ref.split("/").at(-1)], found);
    for (const each of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) whole(each, found);
    if (schema.items) whole(schema.items, found);
    return found;
  }

  function schemasAt(path) {
    let found = whole(root);
    for (const key of path) found = found.flatMap((each) => whole(each.properties?.[key] ?? (each.properties && key in each.properties ? null : each.additionalProperties)));
    return found;
  }

  const about = (schemas) => schemas.map((each) => each.description).find(Boolean) ?? "";

  function keysAt(path) {
    const found = new Map();
    for (const { properties } of schemasAt(path)) {
      for (const [name, schema] of Object.entries(properties ?? {})) {
        if (!found.has(name)) found.set(name, { name, text: name, about: about(whole(schema)) });
      }
    }
    return [...found.values()];
  }

  function valuesAt(path) {
    const found = new Map();
    const add = (value, description) => {
      const text = JSON.stringify(value);
      if (!found.has(text)) found.set(text, { name: String(value), text, about: description ?? "" });
    };
    for (const each of schemasAt(path)) {
      if (each.const !== undefined) add(each.const, each.description);
      for (const value of each.enum ?? []) add(value);
      if (each.type === "boolean") [true, false].forEach((value) => add(value));
      for (const value of each.examples ?? []) add(value, each.description);
      if (each.default !== undefined && typeof each.default !== "object") add(each.default, "The default.");
    }
    return [...found.values()];
  }

  // The table of the last header above.
  function tableOf(lines) {
    for (let index = lines.length - 1; index >= 0; index -= 1) {
      const header = /^\s*\[\[?([^\[\]]+)\]\]?\s*(#.*)?$/.exec(lines[index]);
      if (header) return split(header[1]);
    }
    return [];
  }

  // Offers for a text whose caret is at its end: where the word begins, and the names that fit.
  function offers(before) {
    const lines = before.split("\n");
    const line = lines.pop();
    if (/^[^"']*#/.test(line)) return null;
    const header = /^\s*\[\[?([\w.-]*)$/.exec(line);
    if (header) {
      const path = split(header[1].slice(0, header[1].lastIndexOf(".") + 1));
      return choose(keysAt(path), header[1].split(".").at(-1));
    }
    // In an inline table, the keys before its brace lead to it.
    let path = tableOf(lines);
    let rest = line;
    for (let brace = /^\s*([\w.-]+)\s*=\s*\{(.*)$/.exec(rest); brace && !brace[2].includes("}"); brace = /^\s*([\w.-]+)\s*=\s*\{(.*)$/.exec(rest)) {
      path = [...path, ...split(brace[1])];
      rest = brace[2].split(/,(?=[^"]*(?:"[^"]*"[^"]*)*$)/).at(-1);
    }
    const value = /^\s*([\w.-]+)\s*=\s*(?:\[.*[,[]\s*)?("?[^"\s[\]]*)$/.exec(rest);
    if (value) return choose(valuesAt([...path, ...split(value[1])]), value[2]);
    const key = /^\s*([\w.-]*)$/.exec(rest);
    if (!key) return null;
    const inner = split(key[1].slice(0, key[1].lastIndexOf(".") + 1));
    return choose(keysAt([...path, ...inner]).map((each) => ({ ...each, text: `${each.text} = ` })), key[1].split(".").at(-1));
  }

  function choose(all, word) {
    const asked = word.replaceAll('"', "").toLowerCase();
    const found = all.filter((each) => each.name.toLowerCase().includes(asked)).sort((one, other) => Number(other.name.toLowerCase().startsWith(asked)) - Number(one.name.toLowerCase().startsWith(asked)));
    return found.length ? { length: word.length, found: found.slice(0, MOST) } : null;
  }

  studio.complete = { begin, offers, keysAt, valuesAt };
})();
