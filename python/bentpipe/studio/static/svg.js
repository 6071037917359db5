// A drawing context that writes SVG: for pictures of views that draw on a canvas. It has what these views call.
"use strict";
(() => {
  const studio = globalThis.studio;
  const short = (value) => Number(value.toFixed(2));

  class SvgContext {
    fillStyle = "#000";
    strokeStyle = "#000";
    lineWidth = 1;
    globalAlpha = 1;
    font = "12px sans-serif";
    textAlign = "left";
    textBaseline = "alphabetic";
    parts = [];
    saved = [];
    probe = null;

    constructor(width, height) {
      this.width = width;
      this.height = height;
      this.beginPath();
    }

    save() {
      const { fillStyle, strokeStyle, lineWidth, globalAlpha, font } = this;
      this.saved.push({ fillStyle, strokeStyle, lineWidth, globalAlpha, font });
    }

    restore() {
      Object.assign(this, this.saved.pop());
    }

    setTransform() {} // Units are those of the page already.
    clearRect() {}

    beginPath() {
      this.path = [];
    }

    moveTo(x, y) {
      this.path.push(`M${short(x)} ${short(y)}`);
    }

    lineTo(x, y) {
      this.path.push(`L${short(x)} ${short(y)}`);
    }

    closePath() {
      this.path.push("Z");
    }

    // Only whole circles are drawn.
    arc(x, y, radius) {
      const [left, r] = [short(x - radius), short(radius)];
      this.path.push(`M${left} ${short(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`);
    }

    fill() {
      this.#add("path", { d: this.path.join(""), fill: this.fillStyle });
    }

    stroke() {
      this.#add("path", { d: this.path.join(""), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth });
    }

    fillRect(x, y, width, height) {
      this.#add("rect", { x: short(x), y: short(y), width: short(width), height: short(height), fill: this.fillStyle });
    }

    measureText(text) {
      this.probe ??= document.createElement("canvas").getContext("2d");
      this.probe.font = this.font;
      return this.probe.measureText(text);
    }

    fillText(text, x, y) {
      this.#text(text, x, y, { fill: this.fillStyle });
    }

    strokeText(text, x, y) {
      this.#text(text, x, y, { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth });
    }

    #text(text, x, y, look) {
      const baseline = { middle: "central", bottom: "text-after-edge" }[this.textBaseline] ?? "auto";
      this.#add("text", { x: short(x), y: short(y), style: `font:${this.font}`, "dominant-baseline": baseline, ...look }, text);
    }

    #add(tag, attributes, text) {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      if (this.globalAlpha < 1) made.setAttribute("opacity", this.globalAlpha);
      if (text !== undefined) made.textContent = text;
      this.parts.push(new XMLSerializer().serializeToString(made));
    }

    text() {
      const [w, h] = [this.width, this.height];
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">${this.parts.join("\n")}</svg>\n`;
    }
  }

  studio.SvgContext = SvgContext;
})();
