// What ran when, on a canvas: who answers sends what fits the screen, so that a hundred thousand tasks
// are as fast to draw as a thousand.

import { card, counted, el, seconds } from "./dom.js";
import { Zoomed } from "./zoomed.js";

const ROW = 26, GAP = 4, TOP = 24, LEFT = 82;

// Colours of functions, which differ in hue and lightness, by the order in which they came.
const HUES = [212, 28, 150, 340, 265, 48, 185, 5, 95, 300];

export function colour(label, failed) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (failed) return dark ? "#ff5a4d" : "#c2180c";
  const round = Math.floor(label / HUES.length) % 3;
  return `hsl(${HUES[label % HUES.length]} ${60 - 15 * round}% ${(dark ? 58 : 48) + 9 * round}%)`;
}

// An array for each task: lane, label, start, duration, how it ended, name and wait; times in seconds.
function rows({ lane, label, start_ns, took_ns, ended, name, wait_ns }) {
  return lane.map((one, place) =>
    [one, label[place], start_ns[place] / 1e9, took_ns[place] / 1e9, ended[place], name[place], wait_ns[place] / 1e9]);
}

export class Timeline extends Zoomed {
  // Takes who answers questions, and what is done with the name of a task that was chosen.
  constructor(ask, choose) {
    super();
    this.ask = ask;
    this.choose = choose;
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Timeline", "aria-describedby": "timeline-keys" });
    this.line = el("p", { class: "note", role: "status" });
    this.legend = el("ul", { class: "legend" });
    this.node = card("Timeline",
      el("div", { class: "tools" }, this.buttons("All"),
        el("span", { class: "soft", id: "timeline-keys" },
          "Wheel or + and − zoom, drag or arrows move, Home shows all; click a task for its story.")),
      el("div", { class: "timeline" }, this.canvas), this.line, this.legend);
    this.listen();
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas);
  }

  leave() {
    this.resized.disconnect();
    super.leave();
  }

  listen() {
    this.listenTo(this.canvas);
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.held = { x: event.offsetX, span: this.shown(), moved: false };
    });
    this.canvas.addEventListener("pointermove", (event) => this.onMove(event));
    this.canvas.addEventListener("pointerup", (event) => {
      const held = this.held;
      this.held = null;
      const task = this.find(event.offsetX, event.offsetY);
      if (held && !held.moved && task) this.choose(task[5]);
    });
    this.canvas.addEventListener("pointercancel", () => { this.held = null; });
  }

  onMove(event) {
    if (this.held && Math.abs(event.offsetX - this.held.x) > 3) {
      const [from, to] = this.held.span;
      const by = ((this.held.x - event.offsetX) * (to - from)) / this.width();
      this.held.moved = true;
      this.move([from + by, to + by]);
    } else if (!this.held) {
      const task = this.find(event.offsetX, event.offsetY);
      this.canvas.title = task ? this.describe(task) : "";
    }
  }

  left() { return LEFT; }

  width() { return Math.max(50, this.canvas.clientWidth - LEFT); }

  async update() { await this.fetch(); }

  async fetch() {
    const data = await this.newest(this.ask("timeline", { width: Math.round(this.width()), ...this.between() }));
    if (!data) return;
    this.data = { ...data, tasks: rows(data.tasks) };
    this.tell();
    this.draw();
  }

  tell() {
    const data = this.data, [from, to] = this.shown();
    const since = data.observed_s > 0.5 ? ` Times before ${seconds(data.observed_s)} are not known: no page was open; trace= records from the start.` : "";
    const text = `${counted(data.count, "attempt")} in ${seconds(to - from)} on ${counted(data.lanes.length, "executor")}.${since}`;
    if (this.line.textContent !== text) this.line.textContent = text;
    this.canvas.setAttribute("aria-label", `Timeline: ${text}`);
    this.legend.replaceChildren(...Object.entries(data.labels).slice(0, 30).map(([number, label]) => {
      const patch = el("canvas", { width: "1", height: "1", "aria-hidden": "true" });
      const pen = patch.getContext("2d");
      pen.fillStyle = colour(Number(number), false);
      pen.fillRect(0, 0, 1, 1);
      return el("li", {}, patch, label);
    }));
  }

  lanes() {
    // Those of one worker stand together.
    const order = this.data.lanes.map((worker, lane) => [worker, lane]);
    const number = (worker) => Number(worker.split("-").at(-1));
    order.sort((one, other) => number(one[0]) - number(other[0]) || one[1] - other[1]);
    const rows = new Map();
    order.forEach(([worker, lane], row) => rows.set(lane, [row, worker]));
    return rows;
  }

  find(x, y) {
    if (!this.data || x < LEFT) return null;
    const at = this.at(x), rows = this.lanes();
    const [from, to] = this.shown(), near = (2 * (to - from)) / this.width();
    return this.data.tasks.find(([lane, , start, took]) =>
      rows.get(lane)[0] === Math.floor((y - TOP) / (ROW + GAP)) && at >= start - near && at <= start + took + near) ?? null;
  }

  describe([, label, start, took, ended, , wait]) {
    const how = this.data.endings[ended];
    return `${this.data.labels[label]}, ${how}: began at ${seconds(start)}, took ${seconds(took)}, waited ${seconds(wait)}`;
  }

  draw() {
    const data = this.data, width = this.canvas.clientWidth, scale = devicePixelRatio || 1;
    if (!data || !width) return;
    const rows = this.lanes(), height = TOP + Math.max(1, rows.size) * (ROW + GAP) + 4;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = `${height}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.drawAxis(pen, width, height);
    this.drawLanes(pen, rows, width);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, width - LEFT, height);
    pen.clip();
    this.drawCells(pen, rows);
    this.drawTasks(pen, rows);
    pen.restore();
  }

  x(at_s) {
    const [from, to] = this.shown();
    return LEFT + ((at_s - from) / (to - from)) * this.width();
  }

  drawAxis(pen, width, height) {
    const style = getComputedStyle(document.documentElement);
    const [from, to] = this.shown();
    const rough = ((to - from) * 110) / this.width(), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "left";
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      const x = Math.round(this.x(tick)) + 0.5;
      pen.strokeStyle = style.getPropertyValue("--line");
      pen.beginPath();
      pen.moveTo(x, TOP - 6);
      pen.lineTo(x, height);
      pen.stroke();
      pen.fillStyle = style.getPropertyValue("--soft");
      // So many digits that ticks differ.
      const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step))));
      if (x < width - 40) pen.fillText(`${tick.toFixed(digits)} s`, x + 3, 12);
    }
  }

  drawLanes(pen, rows, width) {
    const style = getComputedStyle(document.documentElement);
    pen.font = "12px system-ui, sans-serif";
    let before = null;
    for (const [row, worker] of [...rows.values()].sort((one, other) => one[0] - other[0])) {
      pen.fillStyle = style.getPropertyValue("--track");
      pen.globalAlpha = 0.45;
      pen.fillRect(LEFT, TOP + row * (ROW + GAP), width - LEFT, ROW);
      pen.globalAlpha = 1;
      pen.fillStyle = style.getPropertyValue("--ink");
      if (worker !== before) pen.fillText(worker, 0, TOP + row * (ROW + GAP) + 17, LEFT - 8);
      before = worker;
    }
  }

  drawCells(pen, rows) {
    const data = this.data, { lane, pixel, percent, label } = data.cells;
    const step_s = (data.to_s - data.from_s) / data.width, step = this.x(step_s) - this.x(0);
    const colours = new Map(Object.keys(data.labels).map((number) => [Number(number), colour(Number(number), false)]));
    for (let cell = 0; cell < lane.length; cell += 1) {
      const high = Math.max(2, (percent[cell] * ROW) / 100), x = this.x(data.from_s + pixel[cell] * step_s);
      pen.fillStyle = colours.get(label[cell]);
      pen.fillRect(x, TOP + rows.get(lane[cell])[0] * (ROW + GAP) + ROW - high, Math.max(1, step), high);
    }
  }

  drawTasks(pen, rows) {
    for (const [lane, label, start, took, ended] of this.data.tasks) {
      const x = this.x(start), wide = Math.max(0.8, this.x(start + took) - x);
      const y = TOP + rows.get(lane)[0] * (ROW + GAP);
      pen.fillStyle = colour(label, this.data.endings[ended] !== "done");
      pen.fillRect(x, y, wide > 3 ? wide - 0.6 : wide, ROW);
      if (wide > 46) this.write(pen, this.data.labels[label], Math.max(x, LEFT), y, Math.min(wide, x + wide - LEFT));
    }
  }

  write(pen, text, x, y, wide) {
    pen.save();
    pen.beginPath();
    pen.rect(x, y, wide - 4, ROW);
    pen.clip();
    pen.fillStyle = "#fff";
    pen.font = "12px system-ui, sans-serif";
    pen.fillText(text, x + 5, y + 17);
    pen.restore();
  }
}
