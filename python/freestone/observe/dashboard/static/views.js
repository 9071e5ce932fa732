// The views that are tables and figures. Each has a `node`, and `update(summary)` draws it anew.

import { bytes, card, count, counted, el, field, meter, seconds, short, show, table } from "./dom.js";
import { act, ask } from "./net.js";

// Rates are means over the last samples.
const SAMPLES = 5;
const history = [];

export function sample(summary) {
  history.push(summary);
  if (history.length > 120) history.shift();
}

function rates(summary) {
  const before = history[Math.max(0, history.length - 1 - SAMPLES)];
  const passed_s = summary.now_s - before.now_s;
  const known = new Map(before.functions.map((one) => [one.label, one]));
  const rate = (now, then) => (passed_s > 0 ? Math.max(0, now - then) / passed_s : 0);
  return {
    done: rate(summary.done, before.done),
    moved: rate(summary.transferred_nbytes, before.transferred_nbytes),
    of: (one) => rate(one.done, known.get(one.label)?.done ?? one.done),
    passed_s,
  };
}

const perSecond = (value) => `${value >= 100 || value === 0 ? count(value) : value.toPrecision(2)}/s`;

export class Overview {
  constructor() {
    this.tiles = el("dl", { class: "tiles" });
    this.chart = el("canvas", { role: "img", height: "70" });
    this.functions = card("Functions");
    this.node = el("div", { class: "stack" }, this.tiles, card("Calls done each second", this.chart), this.functions);
  }

  update(summary) {
    const rate = rates(summary);
    const slots = summary.workers.reduce((sum, worker) => sum + worker.slots, 0);
    const running = summary.workers.reduce((sum, worker) => sum + worker.running, 0);
    const held = summary.workers.reduce((sum, worker) => sum + worker.memory_nbytes, 0);
    const spilled = summary.workers.reduce((sum, worker) => sum + worker.disk_nbytes, 0);
    const tiles = [
      ["Done", count(summary.done), perSecond(rate.done)],
      ["Running", `${count(running)} of ${count(slots)}`, `${count(summary.assigned)} at workers`],
      ["Ready", count(summary.ready), "wait for a worker"],
      ["Waiting", count(summary.waiting), "wait for inputs"],
      ["Failed", count(summary.failed), `${count(summary.retried)} tried again`],
      ["Answered", count(summary.answered), "by blocks that were there"],
      ["Blocks", count(summary.blocks), `${bytes(held)} in memory, ${bytes(spilled)} on disk`],
      ["Moved", bytes(summary.transferred_nbytes), `${bytes(rate.moved)}/s between workers`],
    ];
    this.tiles.replaceChildren(...tiles.map(([name, value, note]) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, value, el("small", {}, note)))));
    draw(this.chart);
    this.functions.replaceChildren(el("h2", {}, "Functions"), functions(summary, rate));
  }
}

function functions(summary, rate) {
  const total = (one) => one.done + one.failed + one.assigned + one.ready + one.waiting;
  const left = (one) => one.assigned + one.ready + one.waiting;
  const time = (one) => {
    const each = rate.of(one);
    return left(one) && each > 0 ? seconds(left(one) / each) : "–";
  };
  const columns = [
    ["function", (one) => one.label],
    ["progress", (one) => [
      meter([["done", one.done], ["failed", one.failed], ["", one.assigned]], total(one),
        `${one.done} of ${total(one)} done`),
      `${count(one.done)} / ${count(total(one))}`]],
    ["rate", (one) => (rate.of(one) ? perSecond(rate.of(one)) : "–"), true],
    ["time left", time, true],
    ["at workers", (one) => count(one.assigned), true],
    ["ready", (one) => count(one.ready), true],
    ["waiting", (one) => count(one.waiting), true],
    ["failed", (one) => el("span", { class: one.failed ? "bad" : "soft" }, count(one.failed)), true],
    ["mean", (one) => (one.done ? seconds(one.busy_ns / 1e9 / one.done) : "–"), true],
    ["in all", (one) => (one.busy_ns ? seconds(one.busy_ns / 1e9) : "–"), true],
  ];
  const shown = summary.functions.length;
  const more = shown < summary.functions_in_all ? `, the busiest ${shown} of ${summary.functions_in_all}` : "";
  return table(`Tasks by function${more}`, columns, summary.functions, "No function was submitted so far.");
}

function draw(canvas) {
  const width = canvas.clientWidth, height = 70, scale = devicePixelRatio || 1;
  if (!width) return;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.height = `${height}px`;
  const values = history.slice(1).map((one, place) => {
    const before = history[place];
    return Math.max(0, one.done - before.done) / Math.max(1e-3, one.now_s - before.now_s);
  });
  const most = Math.max(1, ...values);
  canvas.setAttribute("aria-label", `Calls done each second, at most ${count(most)}, now ${count(values.at(-1) ?? 0)}`);
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  pen.scale(scale, scale);
  pen.fillStyle = style.getPropertyValue("--soft");
  pen.font = "12px system-ui, sans-serif";
  pen.fillText(perSecond(most), 0, 11);
  const step = width / 119;
  const x = (place) => width - (values.length - 1 - place) * step;
  const y = (value) => height - 1 - (value / most) * (height - 20);
  pen.beginPath();
  values.forEach((value, place) => pen.lineTo(x(place), y(value)));
  pen.strokeStyle = style.getPropertyValue("--busy");
  pen.lineWidth = 1.8;
  pen.stroke();
  pen.lineTo(width, height);
  pen.lineTo(x(0), height);
  pen.globalAlpha = 0.15;
  pen.fillStyle = pen.strokeStyle;
  pen.fill();
}

// Why a task waits or where it ran, with a button that cancels it.
export async function explain(name) {
  try {
    const { text, stage, log } = await ask("explain", { name });
    const lasts = ["waiting", "ready", "assigned"].includes(stage);
    const body = el("div", {}, el("pre", {}, text),
      log ? [el("h3", {}, "What it printed"), el("pre", { class: "log", tabindex: "0" }, log)] : null,
      el("p", { class: "note mono" }, name));
    if (await show(lasts ? "Why does it wait?" : "What became of it?", body, lasts ? "Cancel the task" : null)) {
      await act("cancel", { name });
    }
  } catch (error) {
    await show("This can't be said", el("p", {}, error.message));
  }
}

const STAGES = { assigned: "busy", ready: "warn", waiting: "soft" };

export class Tasks {
  constructor() {
    this.stage = el("select", { id: "stage", onchange: () => this.update() },
      ["", "assigned", "ready", "waiting"].map((stage) => el("option", { value: stage }, stage || "any")));
    this.function = el("select", { id: "function", onchange: () => this.update() });
    this.functions = null;
    this.tag = el("input", { id: "tag", size: "12", autocomplete: "off" });
    const cancel = el("button", { onclick: () => this.cancel() }, "Cancel…");
    this.table = el("div");
    this.node = card("Tasks that have not ended",
      el("div", { class: "tools" },
        field("stage", this.stage), field("function", this.function), field("all with the tag", this.tag), cancel),
      this.table);
  }

  async update() {
    const query = { stage: this.stage.value };
    if (this.function.value) query.function = this.function.value.slice(1);
    const { tasks, functions, now_s } = await ask("tasks", query);
    this.offer(functions);
    const focused = this.table.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const columns = [
      ["call", (task) => task.call],
      ["action", (task) => el("button", { "data-name": task.name, "aria-label": `Why does ${task.label} ${task.name.slice(0, 8)} wait?`,
        onclick: () => explain(task.name) }, "Why?")],
      ["stage", (task) => [el("span", { class: STAGES[task.stage] }, task.stage),
        task.waits_for ? el("span", { class: "soft" }, ` waits for ${task.waits_for}`) : null]],
      ["since", (task) => (task.since_s === null ? "–" : seconds(now_s - task.since_s)), true],
      ["worker", (task) => task.worker ?? "–"],
      ["inputs missing", (task) => (task.missing ? count(task.missing) : "–"), true],
      ["name", (task) => short(task.name)],
    ];
    const caption = tasks.length < 200 ? counted(tasks.length, "task") : `The first ${tasks.length} tasks`;
    this.table.replaceChildren(table(caption, columns, tasks, "No such task: nothing waits and nothing runs."));
    if (focused) this.table.querySelector(`button[data-name="${focused}"]`)?.focus();
  }

  offer(functions) {
    const key = functions.join("\n");
    if (key === this.functions) return;
    this.functions = key;
    const chosen = this.function.value;
    // The first letter tells a function without a name from no choice.
    this.function.replaceChildren(el("option", { value: "" }, "any"),
      ...functions.map((label) => el("option", { value: `=${label}` }, label)));
    this.function.value = chosen;
  }

  async cancel() {
    const tag = this.tag.value.trim();
    if (!tag) return this.tag.focus();
    const body = el("p", {}, `All calls that were submitted with the tag “${tag}”, and all that depends on them.`);
    if (!(await show("Cancel these tasks?", body, "Cancel them"))) return;
    const { cancelled } = await act("cancel", { tag });
    await show("Cancelled", el("p", {}, `${counted(cancelled, "task")} had the tag “${tag}”.`));
  }
}

export class Workers {
  constructor() {
    this.node = card("Workers");
    this.node.classList.add("narrow");
  }

  update(summary) {
    const cpu = (one) => (one.cpu === null ? "–" : [
      meter([["", one.cpu]], one.cores || one.slots || 1, `${one.cpu.toFixed(2)} cores busy`), `${one.cpu.toFixed(2)} cores`]);
    const tier = (used, quota) => [meter([["", used]], quota, `${bytes(used)} of ${bytes(quota)}`), `${bytes(used)} of ${bytes(quota)}`];
    const custom = (one) => Object.entries(one.resources).map(([name, amount]) => `${one.taken[name]} of ${amount} ${name}`).join(", ");
    const columns = [
      ["worker", (one) => one.worker],
      ["action", (one) => (one.leaving ? el("span", { class: "warn" }, "leaves")
        : el("button", { "aria-label": `Retire ${one.worker}`, onclick: () => retire(one) }, "Retire…"))],
      ["machine", (one) => `${one.host}:${one.pid}`],
      ["running", (one) => [meter([["done", one.running]], one.slots, `${one.running} of ${one.slots} slots`), `${one.running} of ${one.slots}`]],
      ["processor", cpu],
      ["memory tier", (one) => tier(one.memory_nbytes, one.memory_quota)],
      ["disk tier", (one) => tier(one.disk_nbytes, one.disk_quota)],
      ...(summary.workers.some((one) => Object.keys(one.resources).length) ? [["resources", custom]] : []),
      ["resident", (one) => bytes(one.rss), true],
      ["blocks", (one) => count(one.blocks), true],
      ["held", (one) => count(one.assigned), true],
      ["run", (one) => count(one.done), true],
      ["sent", (one) => bytes(one.sent_nbytes), true],
      ["received", (one) => bytes(one.received_nbytes), true],
      ["restarted", (one) => el("span", { class: one.executors_restarted ? "warn" : "soft" }, count(one.executors_restarted)), true],
    ];
    const focused = this.node.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    this.node.replaceChildren(el("h2", {}, "Workers"),
      table(counted(summary.workers.length, "worker"), columns, summary.workers, "No worker has joined."));
    if (focused) [...this.node.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === focused)?.focus();
  }
}

async function retire(worker) {
  const body = el("p", {}, `${worker.worker} ends its calls, hands over what only it holds, and leaves.`);
  if (!(await show(`Retire ${worker.worker}?`, body, "Retire it"))) return;
  try {
    await act("retire", { worker: worker.worker });
  } catch (error) {
    await show("It was not retired", el("p", {}, error.message));
  }
}

export class Blocks {
  constructor() {
    this.node = el("div", { class: "stack" });
  }

  async update() {
    const { functions, blocks, executors } = await ask("blocks");
    const most = Math.max(1, ...functions.map((one) => one.nbytes));
    const sums = [
      ["function", (one) => one.label],
      ["bytes", (one) => [meter([["", one.nbytes]], most, bytes(one.nbytes)), bytes(one.nbytes)]],
      ["blocks", (one) => count(one.blocks), true],
      ["replicas", (one) => count(one.replicas), true],
      ["most at workers", (one) => bytes(one.peak_nbytes), true],
      ["raised an executor to", (one) => (one.resident_nbytes ? bytes(one.resident_nbytes) : "–"), true],
    ];
    const processes = [
      ["executor", (one) => `${one.worker}, process ${one.pid}`],
      ["has", (one) => bytes(one.resident), true],
      ["had at most", (one) => bytes(one.peak_nbytes), true],
    ];
    const each = [
      ["block", (one) => short(one.name)],
      ["action", (one) => el("button", { "aria-label": `Explain block ${one.name.slice(0, 8)}`, onclick: () => explain(one.name) }, "Explain")],
      ["made by", (one) => one.label || "–"],
      ["bytes", (one) => bytes(one.nbytes), true],
      ["replicas", (one) => count(one.replicas.length), true],
      ["at", (one) => one.replicas.join(", ") || "the manager"],
    ];
    // Whoever has come to a button by the keyboard stays there.
    if (this.node.contains(document.activeElement) && document.activeElement.tagName === "BUTTON") return;
    this.node.replaceChildren(
      card("By function", table("What functions made, and is there", sums, functions, "No function made a block that is there.")),
      card("By executor", table("Memory of executors' processes, with blocks that they map, as of their calls of 2 ms or more", processes,
        executors, "No executor has run a call of 2 ms or more.")),
      card("The largest blocks", table(`The ${blocks.length} largest`, each, blocks, "No block is there.")));
  }
}

export class Transfers {
  constructor() {
    this.node = el("div", { class: "stack" });
  }

  async update(summary) {
    const { pairs, transfers } = await ask("transfers");
    const sums = [
      ["from", (one) => one.source], ["to", (one) => one.target],
      ["bytes", (one) => bytes(one.nbytes), true],
      ["transfers", (one) => count(one.count), true],
      ["bytes a second, each", (one) => (one.took_s ? `${bytes(one.nbytes / one.took_s)}/s` : "–"), true],
    ];
    const each = [
      ["block", (one) => short(one.name)], ["from", (one) => one.source], ["to", (one) => one.target],
      ["bytes", (one) => bytes(one.nbytes), true],
      ["took", (one) => seconds(one.took_s), true],
      ["ago", (one) => seconds(Math.max(0, summary.now_s - one.end_s)), true],
    ];
    const since = summary.observed_s ? `since ${seconds(summary.observed_s)} after the start` : "since the start";
    const total = `${counted(summary.transfers, "transfer")} of ${bytes(summary.transferred_nbytes)} in all`;
    this.node.replaceChildren(
      card("Between workers", table(`${total}; the pairs ${since}`, sums, pairs, `Nothing went between workers ${since}; ${total}.`)),
      card("The last transfers", table(counted(transfers.length, "transfer"), each, transfers, "None.")));
  }
}

export class Failures {
  constructor() {
    this.node = card("Failures");
    this.shown = null;
  }

  async update(summary) {
    const { failures } = await ask("failures");
    const key = failures.map((one) => `${one.name}${one.at_s}`).join();
    // What is open stays open while nothing new failed.
    if (key === this.shown) return;
    this.shown = key;
    const more = summary.failed > failures.length
      ? `The last ${failures.length} that failed by themselves; ${counted(summary.failed, "task")} failed in all, with those that needed them.` : "";
    this.node.replaceChildren(el("h2", {}, "Failures"), more ? el("p", { class: "note" }, more) : "",
      ...failures.map(failure),
      failures.length ? "" : el("p", { class: "soft" }, "Nothing failed."));
  }
}

function failure(one) {
  const message = one.message.split("\n")[0].slice(0, 200);
  const where = one.worker ? ` on ${one.worker}` : "";
  const tried = one.attempts > 1 ? `, ${one.attempts} attempts` : "";
  return el("details", {},
    el("summary", {}, el("b", {}, one.label), " ", el("span", { class: "bad" }, one.ended), " ", message,
      el("span", { class: "soft" }, ` at ${seconds(one.at_s)}${where}${tried}`)),
    el("pre", { tabindex: "0" }, one.traceback || one.message || one.ended),
    el("div", { class: "buttons" }, el("button", { onclick: () => explain(one.name) }, "What became of it?")));
}
