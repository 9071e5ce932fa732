// What waits for what, on a canvas: task by task while there are not too many, and by functions.

import { card, count, counted, el, field, table } from "./dom.js";
import { layOut } from "./layout.js";
import { ask } from "./net.js";
import { colour } from "./timeline.js";
import { explain } from "./views.js";

const EDGE = 26, MAX_NODE = [150, 24], MIN_TEXT = [38, 12], MAX_ROOM = [260, 42], MAX_ZOOM = 1000;
// Of large graphs, a new answer is asked for at most so often.
const MANY = 500, MANY_INTERVAL_MS = 3000;
const STAGES = { done: "--good", assigned: "--busy", ready: "--warn", waiting: "--soft" };

export class Graph {
  constructor() {
    this.by = el("select", { id: "by", onchange: () => this.take(this.data) },
      el("option", { value: "tasks" }, "tasks"), el("option", { value: "functions" }, "functions"));
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Graph", "aria-describedby": "graph-keys" });
    this.line = el("p", { class: "note", role: "status" });
    this.selected = el("p", { class: "note", role: "status" });
    this.legend = el("ul", { class: "legend" });
    this.tables = el("div", { class: "stack" });
    const zoom = (factor, name, text) => el("button", { "aria-label": name, onclick: () => this.zoom(factor) }, text);
    this.node = el("div", { class: "stack" }, card("What waits for what",
      el("div", { class: "tools" }, field("by", this.by), el("button", { onclick: () => this.all() }, "All"),
        zoom(2, "Zoom in", "+"), zoom(0.5, "Zoom out", "−"),
        el("span", { class: "soft", id: "graph-keys" },
          "Arrows go from node to node, Enter or a click tells of one; wheel or + and − zoom, drag moves, Home shows all.")),
      el("div", { class: "timeline" }, this.canvas), this.selected, this.line, this.legend), this.tables);
    this.data = this.shown = this.chosen = null;
    this.asked_ms = -Infinity;
    this.all();
    this.listen();
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas);
  }

  leave() { this.resized.disconnect(); }

  async update() {
    const is_large = (this.shown?.nodes.length ?? 0) > MANY;
    if (is_large && performance.now() - this.asked_ms < MANY_INTERVAL_MS) return;
    this.asked_ms = performance.now();
    this.take(await ask("graph"));
  }

  // -- what is drawn --------------------------------------------------------------------------------

  take(data) {
    if (!data) return;
    this.data = data;
    const has_tasks = data.nodes.name.length > 0 || !data.unfinished;
    const by_tasks = has_tasks && this.by.value === "tasks";
    this.by.options[0].disabled = !has_tasks;
    const chosen = this.chosen === null ? null : this.shown.nodes[this.chosen].key;
    const shown = by_tasks ? tasks(data) : functions(data);
    const key = JSON.stringify([shown.edges, shown.nodes.map((node) => node.key)]);
    if (this.shown?.key === key) shown.places = this.shown.places;
    else shown.places = layOut(shown.nodes.length, shown.edges);
    this.shown = { ...shown, key };
    const again = shown.nodes.findIndex((node) => node.key === chosen);
    this.chosen = again < 0 ? null : again;
    this.tell(by_tasks, has_tasks);
    this.draw();
  }

  tell(by_tasks, has_tasks) {
    const { nodes, edges } = this.shown;
    const many = has_tasks ? "" : ` ${count(this.data.unfinished)} tasks are too many to draw each; up to ${count(this.data.limit)} are.`;
    const text = nodes.length
      ? `${by_tasks ? `${count(nodes.length)} tasks and blocks` : counted(nodes.length, "function")}, ${counted(edges.length, "edge")} from what is needed to what needs it.${many}`
      : "Nothing waits and nothing runs.";
    say(this.line, text);
    this.canvas.setAttribute("aria-label", `Graph: ${text}`);
    const key = JSON.stringify([this.data.functions, this.data.between]);
    if (key !== this.told) this.list();
    this.told = key;
    this.describe();
  }

  list() {
    const { functions: all, between, recorded } = this.data;
    const label = (number) => all[number].label;
    const stages = recorded ? ["done", "failed"] : ["waiting", "ready", "assigned"];
    const needs = [["function", (one) => one.label], ...stages.map((stage) => [stage, (one) => count(one[stage]), true])];
    const edges = [["needs what it makes", ([, to]) => label(to)], ["made by", ([from]) => label(from)],
      ["inputs", ([, , inputs]) => count(inputs), true]];
    const used = all.filter((one) => stages.some((stage) => one[stage]));
    this.tables.replaceChildren(
      card("By function", table("Tasks by function and stage", needs, used, "No task.")),
      card("Between functions", table("Inputs between functions", edges, between, "No task needs another.")));
    const entries = recorded ? all.map((one, number) => [one.label, colour(number, false)]).slice(0, 30)
      : Object.entries(STAGES).map(([stage, name]) => [stage, `var(${name})`]);
    this.legend.replaceChildren(...entries.map(([name, paint]) => {
      const patch = el("i", { class: "patch", "aria-hidden": "true" });
      patch.style.background = paint;
      return el("li", {}, patch, name);
    }));
  }

  describe() {
    const node = this.shown.nodes[this.chosen];
    if (!node) return say(this.selected, "");
    const { edges } = this.shown;
    const needs = edges.filter(([, to]) => to === this.chosen).length, needed = edges.filter(([from]) => from === this.chosen).length;
    say(this.selected, `${node.text}; needs ${needs}, is needed by ${needed}.`);
  }

  // -- moving ---------------------------------------------------------------------------------------

  listen() {
    const at = (event) => [event.offsetX, event.offsetY];
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-Math.max(-1, Math.min(1, event.deltaY / 200))), at(event));
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.held = { from: at(event), middle: this.middle, moved: false };
    });
    this.canvas.addEventListener("pointermove", (event) => this.onMove(...at(event)));
    this.canvas.addEventListener("pointerup", (event) => {
      const held = this.held;
      this.held = null;
      const node = this.find(...at(event));
      if (held?.moved || node === null) return;
      this.choose(node);
      this.open();
    });
    this.canvas.addEventListener("pointercancel", () => { this.held = null; });
  }

  onMove(x, y) {
    if (!this.held) {
      const node = this.find(x, y);
      this.canvas.title = node === null ? "" : this.shown.nodes[node].text;
      return;
    }
    const by = [x - this.held.from[0], y - this.held.from[1]];
    if (Math.hypot(...by) <= 3 && !this.held.moved) return;
    this.held.moved = true;
    this.middle = this.held.middle.map((part, axis) => part - by[axis] / (this.size()[axis] * this.scales()[axis]));
    this.draw();
  }

  onKey(event) {
    const actions = { "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5), Home: () => this.all(),
      Enter: () => this.open(), ArrowLeft: () => this.step(1, 0), ArrowRight: () => this.step(0, 1),
      ArrowUp: () => this.along(-1), ArrowDown: () => this.along(1) };
    if (!(event.key in actions) || !this.shown) return;
    event.preventDefault();
    actions[event.key]();
  }

  // To the nearest node along an edge: from 1 to 0 to what is needed, from 0 to 1 to what needs it.
  step(here, there) {
    if (this.chosen === null) return this.along(1);
    const { row } = this.shown.places;
    const next = this.shown.edges.filter((edge) => edge[here] === this.chosen && edge[0] !== edge[1]).map((edge) => edge[there]);
    if (next.length) this.choose(next.reduce((best, one) => (Math.abs(row[one] - row[this.chosen]) < Math.abs(row[best] - row[this.chosen]) ? one : best)));
  }

  // To the next node of the same column.
  along(by) {
    const { column, row } = this.shown.places;
    if (!this.shown.nodes.length) return;
    if (this.chosen === null) return this.choose(0);
    const same = this.shown.nodes.map((_, node) => node).filter((node) => column[node] === column[this.chosen]);
    same.sort((one, other) => row[one] - row[other]);
    const next = same[same.indexOf(this.chosen) + by];
    if (next !== undefined) this.choose(next);
  }

  choose(node) {
    this.chosen = node;
    const place = this.place(node);
    const is_seen = place.every((part, axis) => Math.abs(part - this.middle[axis]) * this.scales()[axis] <= 0.5);
    if (!is_seen) this.middle = place;
    this.describe();
    this.draw();
  }

  open() {
    const node = this.shown?.nodes[this.chosen];
    if (node?.name) explain(node.name);
  }

  all() {
    this.scale = 1;
    this.middle = [0.5, 0.5];
    this.draw();
  }

  zoom(factor, about) {
    if (!this.shown) return;
    const size = this.size(), before = this.scales(), whole = [this.canvas.clientWidth, this.canvas.clientHeight];
    // What is under the pointer stays there, without one what is chosen.
    const at = about ?? (this.chosen === null ? whole.map((part) => part / 2) : this.at(this.chosen));
    this.scale = Math.max(1, Math.min(MAX_ZOOM, this.scale * factor));
    const after = this.scales();
    this.middle = this.middle.map((part, axis) => {
      const off = (at[axis] - whole[axis] / 2) / size[axis];
      return part + off / before[axis] - off / after[axis];
    });
    this.draw();
  }

  // -- where ----------------------------------------------------------------------------------------

  size() { return [Math.max(50, this.canvas.clientWidth - 2 * EDGE), Math.max(50, this.canvas.clientHeight - 2 * EDGE)]; }

  // Nodes are drawn no farther apart than that their texts can be read.
  scales() {
    const { columns, rows } = this.shown.places, size = this.size();
    return [columns, rows].map((count, axis) => Math.min(this.scale, Math.max(1, (MAX_ROOM[axis] * count) / size[axis])));
  }

  // Parts of the whole, from 0 to 1.
  place(node) {
    const { column, row, columns, rows } = this.shown.places;
    return [(column[node] + 0.5) / columns, (row[node] + rows / 2) / rows];
  }

  at(node) {
    const size = this.size(), place = this.place(node), scales = this.scales();
    const whole = [this.canvas.clientWidth, this.canvas.clientHeight];
    return place.map((part, axis) => whole[axis] / 2 + (part - this.middle[axis]) * size[axis] * scales[axis]);
  }

  extent() {
    const { columns, rows } = this.shown.places, size = this.size(), scales = this.scales();
    const room = [(size[0] * scales[0]) / columns, (size[1] * scales[1]) / rows];
    return [Math.max(3, Math.min(MAX_NODE[0], 0.62 * room[0])), Math.max(1.5, Math.min(MAX_NODE[1], 0.72 * room[1]))];
  }

  find(x, y) {
    if (!this.shown?.nodes.length) return null;
    const [wide, high] = this.extent();
    let best = null, best_off = Infinity;
    for (let node = 0; node < this.shown.nodes.length; node += 1) {
      const [at_x, at_y] = this.at(node), off = Math.hypot(at_x - x, at_y - y);
      if (Math.abs(at_x - x) <= wide / 2 + 2 && Math.abs(at_y - y) <= high / 2 + 2 && off < best_off) [best, best_off] = [node, off];
    }
    return best;
  }

  // -- drawing --------------------------------------------------------------------------------------

  draw() {
    const width = this.canvas.clientWidth, scale = devicePixelRatio || 1;
    if (!this.shown || !width) return;
    const height = Math.max(160, Math.min(Math.round(innerHeight * 0.62), 60 + this.shown.places.rows * (MAX_NODE[1] + 14)));
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = `${height}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement), at = this.shown.nodes.map((_, node) => this.at(node));
    this.drawEdges(pen, style, at, width, height);
    this.drawNodes(pen, style, at, width, height);
  }

  drawEdges(pen, style, at, width, height) {
    const { edges, weights } = this.shown, [wide] = this.extent();
    const most = Math.max(1, ...(weights ?? []));
    edges.forEach(([from, to], number) => {
      const is_chosen = from === this.chosen || to === this.chosen;
      const x = at[from][0] + wide / 2, to_x = at[to][0] - wide / 2, y = at[from][1], to_y = at[to][1];
      if (Math.max(x, to_x) < 0 || Math.min(x, to_x) > width || Math.max(y, to_y) < 0 || Math.min(y, to_y) > height || from === to) return;
      pen.strokeStyle = style.getPropertyValue(is_chosen ? "--accent" : "--soft");
      pen.globalAlpha = is_chosen ? 1 : Math.max(0.12, Math.min(0.7, 150 / edges.length));
      pen.lineWidth = weights ? 1 + 4 * Math.sqrt(weights[number] / most) : is_chosen ? 1.6 : 1;
      const bend = Math.max(8, (to_x - x) / 2);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.bezierCurveTo(x + bend, y, to_x - bend, to_y, to_x, to_y);
      pen.stroke();
    });
    pen.globalAlpha = 1;
  }

  drawNodes(pen, style, at, width, height) {
    const [wide, high] = this.extent();
    pen.font = "12px system-ui, sans-serif";
    this.shown.nodes.forEach((node, number) => {
      const [x, y] = at[number];
      if (x + wide < 0 || x - wide > width || y + high < 0 || y - high > height) return;
      pen.fillStyle = node.paint.startsWith("--") ? style.getPropertyValue(node.paint) : node.paint;
      pen.fillRect(x - wide / 2, y - high / 2, wide, high);
      if (number === this.chosen) {
        pen.strokeStyle = style.getPropertyValue("--accent");
        pen.lineWidth = 3;
        pen.strokeRect(x - wide / 2 - 3, y - high / 2 - 3, wide + 6, high + 6);
      }
      if (wide < MIN_TEXT[0] || high < MIN_TEXT[1]) return;
      pen.save();
      pen.beginPath();
      pen.rect(x - wide / 2, y - high / 2, wide - 4, high);
      pen.clip();
      pen.fillStyle = style.getPropertyValue("--card");
      pen.fillText(node.label, x - wide / 2 + 5, y + 4);
      pen.restore();
    });
  }
}

function say(node, text) {
  // A status that did not change is not read out again.
  if (node.textContent !== text) node.textContent = text;
}

function tasks({ nodes, edges, functions: all, recorded }) {
  const label = (number) => (nodes.function[number] === null ? "block" : all[nodes.function[number]].label);
  return {
    nodes: nodes.name.map((name, number) => ({
      key: name, name, label: label(number),
      text: [`${label(number)} ${name.slice(0, 8)}: ${nodes.stage[number]}`, nodes.worker[number]].filter(Boolean).join(", "),
      paint: nodes.stage[number] in STAGES && !recorded ? STAGES[nodes.stage[number]]
        : colour(nodes.function[number] ?? 0, nodes.stage[number] !== "done"),
    })),
    edges: edges.from.map((from, number) => [from, edges.to[number]]),
  };
}

function functions({ functions: all, between, recorded }) {
  const stages = recorded ? ["done", "failed"] : ["waiting", "ready", "assigned"];
  const linked = new Set(between.flatMap(([from, to]) => [from, to]));
  const used = all.map((one, number) => number).filter((number) => linked.has(number) || stages.some((stage) => all[number][stage]));
  const index = new Map(used.map((number, place) => [number, place]));
  const first = (one) => ["assigned", "ready", "waiting"].find((stage) => one[stage]) ?? "done";
  return {
    nodes: used.map((number) => {
      const one = all[number], counts = stages.filter((stage) => one[stage]).map((stage) => `${count(one[stage])} ${stage}`).join(", ");
      const sum = stages.reduce((all_of_them, stage) => all_of_them + one[stage], 0);
      return { key: one.label, name: null, label: sum ? `${one.label} (${count(sum)})` : one.label, text: `${one.label}: ${counts || "nothing left"}`,
        paint: recorded ? colour(number, false) : STAGES[first(one)] };
    }),
    edges: between.map(([from, to]) => [index.get(from), index.get(to)]),
    weights: between.map(([, , inputs]) => inputs),
  };
}
