// What ranks did and how jobs were resized, from the traces that the program has written. The program
// draws them; what it draws is parsed as an image, in which no script runs.

import { card, el, field, table } from "./dom.js";
import { ask } from "./net.js";
import { Zoomed } from "./zoomed.js";

export class Ranks extends Zoomed {
  constructor() {
    super();
    this.file = el("select", { id: "trace", onchange: () => this.follow() });
    this.lines = el("div", { role: "status" });
    this.figure = el("div", { class: "scroll lanes", tabindex: "0", role: "region", "aria-label": "Timeline of ranks" });
    this.legend = el("ul", { class: "legend" });
    this.tables = el("div", { class: "stack" });
    this.tools = el("div", { class: "tools" }, field("trace", this.file), this.buttons("All"),
      el("span", { class: "soft" }, "Wheel or + and − zoom, arrows move, Home shows all."));
    this.listenTo(this.figure);
    this.files = this.known = null;
    this.node = el("div", { class: "stack" }, card("Ranks and resizes", this.tools, this.lines, this.figure, this.legend), this.tables);
  }

  left() { return this.figure.clientWidth * (this.data?.plot[0] ?? 0); }

  width() { return this.figure.clientWidth * ((this.data?.plot[1] ?? 1) - (this.data?.plot[0] ?? 0)); }

  async fetch() {
    const query = { file: this.file.value, known: this.known ?? "", ...this.between() };
    const data = await this.newest(ask("ranks", query));
    if (!data) return;
    this.offer(data);
    // What is selected or read stays while nothing new was written.
    if (data.key === this.known) return;
    this.known = data.key;
    this.data = data;
    this.draw();
    this.lines.replaceChildren(...data.summary.map((line) => el("p", { class: "note" }, line)));
    this.legend.replaceChildren(...data.legend.map(([name, colour]) => {
      const patch = el("i", { class: "patch", "aria-hidden": "true" });
      patch.style.background = colour;
      return el("li", {}, patch, name);
    }));
    this.tables.replaceChildren(...data.tables.map(({ title, head, rows }) => card(title, table(`${title}, ${rows.length} shown`,
      head.map((name, place) => [name, (row) => row[place], place > 0]), rows, "None."))));
  }

  draw() {
    if (!this.data?.svg) return this.figure.replaceChildren();
    const parsed = new DOMParser().parseFromString(this.data.svg, "image/svg+xml");
    this.figure.replaceChildren(document.importNode(parsed.documentElement, true));
  }

  offer({ files, file }) {
    this.tools.hidden = this.figure.hidden = !files.length;
    const key = JSON.stringify(files);
    if (key === this.files) return;
    this.files = key;
    this.file.replaceChildren(...files.map((path) => el("option", { value: path, selected: path === file }, path.split("/").at(-1))));
  }
}
