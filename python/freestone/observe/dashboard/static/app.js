// The page: which view is shown, and when it asks anew.

import { el, seconds } from "./dom.js";
import { Logs } from "./logs.js";
import { ask } from "./net.js";
import { Profile } from "./profile.js";
import { Ranks } from "./ranks.js";
import { Timeline } from "./timeline.js";
import * as views from "./views.js";

const INTERVAL_MS = 1000;
const VIEWS = {
  overview: ["Overview", () => new views.Overview()],
  timeline: ["Timeline", () => new Timeline()],
  tasks: ["Tasks", () => new views.Tasks()],
  workers: ["Workers", () => new views.Workers()],
  blocks: ["Blocks", () => new views.Blocks()],
  transfers: ["Transfers", () => new views.Transfers()],
  failures: ["Failures", () => new views.Failures()],
  logs: ["Logs", () => new Logs()],
  profile: ["Profile", () => new Profile()],
  ranks: ["Ranks", () => new Ranks()],
};

const main = document.getElementById("view");
const status = document.getElementById("status");
const links = {};
let view = null;
let timer = null;
let asking = false;
let ended = false;

for (const [key, [title]] of Object.entries(VIEWS)) {
  links[key] = el("a", { href: `#${key}` }, title);
  document.querySelector("nav").append(links[key]);
}

function choose() {
  const key = location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "overview";
  view?.leave?.();
  for (const [other, link] of Object.entries(links)) {
    if (other === key) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  view = VIEWS[key][1]();
  document.title = `${VIEWS[key][0]} · freestone`;
  main.setAttribute("aria-busy", "true");
  main.replaceChildren(view.node);
  refresh();
}

function report(summary) {
  document.getElementById("about").textContent = `process ${summary.pid}, up ${seconds(summary.now_s)}`;
  const failures = summary.failed
    ? [" ", el("span", { class: "count" }, summary.failed > 999 ? "999+" : `${summary.failed}`)] : [];
  links.failures.replaceChildren("Failures", ...failures);
}

function tell(text, lost) {
  // A status that did not change is not read out again.
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle("lost", lost);
}

async function refresh() {
  clearTimeout(timer);
  if (asking || document.hidden || ended) return;
  asking = true;
  const shown = view;
  try {
    const summary = await ask("summary");
    views.sample(summary);
    report(summary);
    await shown.update(summary);
    if (shown === view) main.removeAttribute("aria-busy");
    tell("live", false);
  } catch (error) {
    ended = error.status === 410;
    tell(ended ? "the cluster is closed" : "no answer: the program ended, or is busy", true);
  } finally {
    asking = false;
    timer = setTimeout(refresh, shown === view ? INTERVAL_MS : 0);
  }
}

addEventListener("hashchange", choose);
document.addEventListener("visibilitychange", refresh);
choose();
