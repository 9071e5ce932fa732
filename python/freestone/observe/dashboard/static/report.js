// What a recorded run's report says and draws. It is parsed as a document of its own, in which no
// script runs.

import { el } from "./dom.js";
import { ask } from "./net.js";

export class Report {
  constructor() {
    this.node = el("div", { class: "card report" });
  }

  async update() {
    if (this.node.childElementCount) return;
    const { html, css } = await ask("report");
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [sheet];
    const parsed = new DOMParser().parseFromString(html, "text/html");
    for (const one of parsed.querySelectorAll("[data-style]")) one.style.cssText = one.dataset.style;
    for (const one of parsed.querySelectorAll("section")) {
      one.tabIndex = 0;
      one.setAttribute("role", "region");
      one.setAttribute("aria-label", one.querySelector("h2").textContent);
    }
    this.node.replaceChildren(...parsed.body.childNodes);
  }
}
