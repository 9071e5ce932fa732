// Where calls spend their time: a flame graph, of all tasks or of a function's.

import { card, el, field, seconds, table } from "./dom.js";
import { ask } from "./net.js";

const MIN_SHARE = 0.001;
const MAX_ROWS = 100;
const ROW_PX = 20;
const COLOURS = 8;

export class Profile {
  constructor() {
    this.function = el("select", { id: "of", onchange: () => { this.path = []; this.update(); } });
    this.out = el("button", { onclick: () => this.zoom([]) }, "Zoom out");
    this.graph = el("div", { class: "flame", role: "group", "aria-label": "Flame graph" });
    this.functions = el("div");
    this.labels = null;
    this.path = [];
    this.shown = null;
    this.node = card("Where calls spend their time",
      el("p", { class: "note" }, "Each bar is a function, as wide as its time, above what it calls. A bar that is pressed fills the width."),
      el("div", { class: "tools" }, field("function", this.function), this.out),
      this.graph, this.functions);
  }

  async update() {
    const found = await ask("profile", { function: this.function.value });
    const labels = JSON.stringify(found.functions);
    if (labels !== this.labels) {
      this.labels = labels;
      const chosen = this.function.value;
      this.function.replaceChildren(...["", ...found.functions].map((label) =>
        el("option", { value: label, selected: label === chosen }, label || "all")));
    }
    this.root = found.tree;
    this.functions.replaceChildren(table(found.title, this.columns(), found.times, found.title));
    this.draw();
  }

  columns() {
    const share = (of) => (one) => `${seconds(one[of])}, ${(1e11 * one[of] / this.root.total).toFixed(1)} %`;
    return [["function", (one) => one.function], ["where", (one) => one.where || "–"], ["in itself", share("self_s"), true],
      ["with what it calls", share("total_s"), true]];
  }

  zoom(path) {
    this.path = path;
    this.draw();
    (this.graph.querySelector("button") ?? this.out).focus();
  }

  // The bars that are wide enough to be seen, those that lead to the zoomed one as wide as all.
  bars() {
    const found = [];
    let node = this.root, row = 0;
    const taken = [];
    for (const name of this.path) {
      const next = node.children.find((child) => child.name === name);
      if (!next) break;
      node = next;
      taken.push(name);
      found.push({ node, path: [...taken], left: 0, width: 1, row: row++ });
    }
    const whole = node.total;
    const place = (parent, path, left, depth) => {
      if (depth >= MAX_ROWS) return;
      for (const child of parent.children) {
        const width = child.total / whole;
        if (width >= MIN_SHARE) {
          const to = [...path, child.name];
          found.push({ node: child, path: to, left, width, row: depth });
          place(child, to, left, depth + 1);
        }
        left += width;
      }
    };
    if (whole > 0) place(node, taken, 0, row);
    return found;
  }

  draw() {
    const bars = this.bars();
    const key = JSON.stringify([this.path, bars.map((bar) => [bar.path, bar.node.total])]);
    // What is focused stays while nothing new was sampled.
    if (key === this.shown) return;
    this.shown = key;
    const focused = this.graph.contains(document.activeElement) ? document.activeElement.dataset.path : null;
    this.out.disabled = !this.path.length;
    this.graph.style.height = `${(Math.max(-1, ...bars.map((bar) => bar.row)) + 1) * ROW_PX}px`;
    this.graph.replaceChildren(...bars.map((bar) => this.bar(bar)));
    if (focused) [...this.graph.children].find((one) => one.dataset.path === focused)?.focus();
  }

  bar({ node, path, left, width, row }) {
    const text = `${node.name}: ${seconds(node.total / 1e9)}, ${(100 * node.total / this.root.total).toFixed(1)} %`;
    const colour = [...node.name].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % COLOURS;
    const bar = el("button", { title: text, "aria-label": text, class: `c${colour}`, "data-path": JSON.stringify(path),
      onclick: () => this.zoom(path) }, node.name);
    Object.assign(bar.style, { left: `${100 * left}%`, width: `${100 * width}%`, top: `${row * ROW_PX}px`, height: `${ROW_PX}px` });
    return bar;
  }
}
