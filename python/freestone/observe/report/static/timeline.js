// A recorded run's timeline in a page that has no server: the page holds what it shows. It is part of
// the files that reports are written to, and answers what the server of the live page does.

import { bytes, el, seconds, show } from "./dom.js";
import { Timeline } from "./timeline.js";

const MAX_DRAWN = 4000;
const KINDS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, i4: Int32Array, u2: Uint16Array, u1: Uint8Array };

async function unpacked([kind, text]) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new KINDS[kind](await new Response(stream).arrayBuffer());
}

class Attempts {
  constructor(run, columns) {
    Object.assign(this, run, columns);
    this.rows = columns.start.length;
  }

  // What ran in a span of time, for a drawing of so many pixels: one by one what is wider than a pixel,
  // the others summed up by lane and pixel.
  between({ width, from = 0, to = this.to_s }) {
    const pixel_s = (to - from) / width, there = [];
    for (let row = 0; row < this.rows; row += 1) {
      if (this.start[row] > to) break;
      if (this.start[row] + this.took[row] >= from) there.push(row);
    }
    const least_s = there.length > MAX_DRAWN ? Math.max(pixel_s, this.nthLongest(there, MAX_DRAWN)) : 0;
    const drawn = there.filter((row) => this.took[row] >= least_s);
    const cells = this.cells(least_s ? there.filter((row) => this.took[row] < least_s) : [], from, pixel_s, width);
    const labels = new Set([...drawn.map((row) => this.label[row]), ...cells.label]);
    return {
      now_s: this.to_s, observed_s: 0, from_s: from, to_s: to, width, count: there.length, lanes: this.lanes, endings: this.endings,
      labels: Object.fromEntries([...labels].sort((one, other) => one - other).map((label) => [label, this.labels[label]])),
      tasks: this.columns(drawn),
      cells,
    };
  }

  columns(rows) {
    const of = (column, factor = 1) => rows.map((row) => column[row] * factor);
    return { lane: of(this.lane), label: of(this.label), start_ns: of(this.start, 1e9), took_ns: of(this.took, 1e9), ended: of(this.ended),
      name: rows, wait_ns: of(this.wait, 1e9) };
  }

  nthLongest(rows, count) {
    const took = Float32Array.from(rows, (row) => this.took[row]).sort();
    return took[took.length - count];
  }

  cells(rows, from, pixel_s, width) {
    const busy = new Map(), most = new Map();
    for (const row of rows) {
      const pixel = Math.min(width - 1, Math.max(0, Math.floor((this.start[row] - from) / pixel_s)));
      const key = this.lane[row] * width + pixel;
      busy.set(key, (busy.get(key) ?? 0) + this.took[row]);
      if (!(this.took[most.get(key)] > this.took[row])) most.set(key, row);
    }
    const keys = [...busy.keys()];
    return {
      lane: keys.map((key) => Math.floor(key / width)),
      pixel: keys.map((key) => key % width),
      percent: keys.map((key) => Math.min(100, Math.max(1, (100 * busy.get(key)) / pixel_s))),
      label: keys.map((key) => this.label[most.get(key)]),
    };
  }

  // What became of an attempt, and what its task waited for.
  story(row) {
    const text = `${this.labels[this.label[row]]} (${this.called(row)}), attempt ${this.attempt[row]} on ${this.lanes[this.lane[row]]}: `
      + `ready ${seconds(this.wait[row])} before it began at ${seconds(this.start[row])}; ran ${seconds(this.took[row])}; `
      + `${this.endings[this.ended[row]]}; made ${bytes(this.nbytes[row])}`;
    const makers = this.inputs.subarray(this.first[row], this.first[row + 1]);
    const lines = [...makers].map((maker) => `  needed ${maker < 0 ? "what no task made" : this.made(maker)}`);
    const more = this.needed[row] - makers.length;
    return [text, ...lines, ...(more > 0 ? [`  and ${more} more inputs`] : [])].join("\n");
  }

  made(row) {
    return `${this.labels[this.label[row]]} (${this.called(row)}), which ended at ${seconds(this.start[row] + this.took[row])}`;
  }

  called(row) { return this.name[row].toString(16).padStart(8, "0"); }
}

const { columns, ...run } = JSON.parse(document.getElementById("attempts").textContent);
const names = Object.keys(columns);
const found = await Promise.all(names.map((name) => unpacked(columns[name])));
const attempts = new Attempts(run, Object.fromEntries(names.map((name, place) => [name, found[place]])));
const timeline = new Timeline(async (_, query) => attempts.between(query),
  (row) => show("What became of it?", el("pre", {}, attempts.story(row))));
document.getElementById("timeline").append(timeline.node);
timeline.fetch();
