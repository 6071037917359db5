// Links that hold an experiment: the text of the scenario, compressed, in the part of an address that no server sees.
"use strict";
(() => {
  const studio = globalThis.studio;

  const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();

  async function pack(text) {
    const bytes = new Uint8Array(await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw")));
    const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }

  async function unpack(packed) {
    const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream("deflate-raw"));
    return new TextDecoder().decode(bytes);
  }

  // What an address asks for: `scenario` or `text`, `cc` to compare, whether to `run`, and the handle and visible part.
  async function read(fragment) {
    const asked = new URLSearchParams(fragment.replace(/^#/, ""));
    return {
      scenario: asked.get("scenario"),
      text: asked.has("text") ? await unpack(asked.get("text")) : null,
      cc: (asked.get("cc") || "").split(",").filter(Boolean),
      isRun: asked.has("run") || !fragment, // A visitor without a link sees a run.
      moment: Object.fromEntries(["t", "from", "to"].filter((name) => Number.isFinite(parseFloat(asked.get(name)))).map((name) => [name, Number(asked.get(name))])),
    };
  }

  async function write({ scenario, text, cc }) {
    const parts = new URLSearchParams(scenario ? { scenario } : { text: await pack(text) });
    if (cc.length) parts.set("cc", cc.join(","));
    return `#${parts.toString().replaceAll("%2C", ",")}&run`;
  }

  studio.link = { pack, unpack, read, write };
})();
