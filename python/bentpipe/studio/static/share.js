// The single file: its data, its page, and what it says about itself.
"use strict";
(() => {
  const studio = globalThis.studio;
  const { element } = studio;

  async function open() {
    const content = JSON.parse(document.getElementById("studio-content").textContent);
    studio.source = studio.embedded(content.blobs);
    const meta = await studio.source.meta(content.run);
    const picture = meta.has_sky ? "globe" : "topology";
    const views = {
      plots: element("div", { class: "studio-card" }),
      [picture]: element("div", { class: "studio-card studio-picture" }),
      why: element("div", { class: "studio-card" }),
      strip: element("div", { class: "studio-card studio-bottom" }),
    };
    document.body.append(element("main", {}, head(meta), views.plots, element("div", { class: "studio-side" }, views[picture], views.why), views.strip));
    studio.time.set({ run: content.run, pin: content.pin, duration: meta.duration_s, flow: meta.flows[0] });
    for (const [name, place] of Object.entries(views)) studio[name].mount(place);
  }

  function head(meta) {
    const about = element("dialog", { "aria-label": "About this run" });
    const facts = { seed: meta.seed, hosts: meta.hosts, pages: meta.pages || null, version: `bentpipe ${meta.version}, results ${meta.results}`, digest: meta.digest, command: meta.command };
    const pairs = Object.entries(facts).filter(([, value]) => value !== null).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]);
    about.append(
      element("dl", {}, ...pairs),
      element("h2", {}, "Notes"),
      element("ul", {}, ...[...meta.statements, ...meta.notes].filter((text, index, all) => all.indexOf(text) === index).map((text) => element("li", {}, text))),
      element("h2", {}, "Scenario"),
      element("pre", { tabindex: "0" }, meta.text),
      element("form", { method: "dialog" }, element("button", {}, "Close")),
    );
    return element("header", {}, element("h1", {}, meta.title), element("span", { class: "studio-facts" }, `seed ${meta.seed} · bentpipe ${meta.version}`), element("button", { type: "button", class: "studio-quiet", onclick: () => about.showModal() }, "About this run"), about);
  }

  studio.share = { open };
})();
