// A view over a span of time that wheel, keys and buttons zoom and move.

import { el } from "./dom.js";

const MIN_SPAN_S = 2e-6;

// Who extends it has draw(), fetch(), and left() and width() of what is drawn, in pixels.
export class Zoomed {
  constructor() {
    this.span = null; // [from, to] in seconds; none while it shows all
    this.data = null;
    this.asked = 0;
  }

  leave() { clearTimeout(this.later); }

  async update() { await this.fetch(); }

  listenTo(node) {
    node.addEventListener("wheel", (event) => {
      event.preventDefault();
      const x = event.clientX - node.getBoundingClientRect().left;
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), this.at(x));
    }, { passive: false });
    node.addEventListener("keydown", (event) => this.onKey(event));
  }

  buttons(all) {
    const zoom = (factor, name, text) => el("button", { "aria-label": name, onclick: () => this.zoom(factor) }, text);
    return [el("button", { onclick: () => this.follow() }, all), zoom(0.5, "Zoom in", "+"), zoom(2, "Zoom out", "−")];
  }

  onKey(event) {
    const [from, to] = this.shown();
    const by = (to - from) / 8;
    const moves = { ArrowLeft: () => this.move([from - by, to - by]), ArrowRight: () => this.move([from + by, to + by]),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), Home: () => this.follow() };
    if (event.key in moves) {
      event.preventDefault();
      moves[event.key]();
    }
  }

  shown() {
    return this.span ?? (this.data ? [this.data.from_s, this.data.to_s] : [0, 1]);
  }

  between() { return this.span ? { from: this.span[0], to: this.span[1] } : {}; }

  at(x) {
    const [from, to] = this.shown();
    return from + ((x - this.left()) / this.width()) * (to - from);
  }

  zoom(factor, about) {
    const [from, to] = this.shown();
    const middle = about ?? (from + to) / 2;
    const span = Math.max(MIN_SPAN_S, (to - from) * factor);
    const share = (middle - from) / (to - from);
    this.move([middle - share * span, middle + (1 - share) * span]);
  }

  move(span) {
    this.span = span;
    this.draw();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.fetch(), 80);
  }

  follow() {
    this.span = null;
    this.fetch();
  }

  // An answer that came late does not take the place of a newer one.
  async newest(answer) {
    const number = ++this.asked;
    const data = await answer;
    return number === this.asked ? data : null;
  }
}
