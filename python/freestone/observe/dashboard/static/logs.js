// What tasks print, those first that printed last.

import { card, el, field } from "./dom.js";
import { ask } from "./net.js";
import { explain } from "./views.js";

export class Logs {
  constructor() {
    this.filter = el("input", { id: "filter", size: "20", autocomplete: "off", oninput: () => this.draw() });
    this.list = el("div", { class: "stack" });
    this.logs = [];
    this.shown = null;
    this.node = card("Logs",
      el("p", { class: "note" }, "What tasks print and log, the last of each; the program has more by cluster.logs(future)."),
      el("div", { class: "tools" }, field("with the text", this.filter)),
      this.list);
  }

  async update() {
    this.logs = (await ask("logs")).logs;
    this.draw();
  }

  draw() {
    const wanted = this.filter.value;
    const logs = this.logs.filter((one) => `${one.label}\n${one.text}`.includes(wanted));
    const key = JSON.stringify(logs);
    // What is read or selected stays while nothing new was printed.
    if (key === this.shown) return;
    this.shown = key;
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    this.list.replaceChildren(...logs.map(log), logs.length ? "" : el("p", { class: "soft" }, "Nothing was printed."));
    if (focused) this.list.querySelector(`[data-name="${focused}"]`)?.focus();
  }
}

function log(one) {
  const who = one.label || "no task";
  return el("article", { "aria-label": `${who} on ${one.worker}` },
    el("p", {}, el("b", {}, who), el("span", { class: "soft" }, ` on ${one.worker} `),
      one.name ? el("button", { "data-name": one.name, "aria-label": `What became of ${who} ${one.name.slice(0, 8)}?`,
        onclick: () => explain(one.name) }, "Explain") : null),
    el("pre", { class: "log", tabindex: "0" }, one.text));
}
