// The page: which view is shown, and when it asks anew.

import { el, seconds } from "./dom.js";
import { Graph } from "./graph.js";
import { Logs } from "./logs.js";
import { ask } from "./net.js";
import { Profile } from "./profile.js";
import { Ranks } from "./ranks.js";
import { Report } from "./report.js";
import { Timeline } from "./timeline.js";
import * as views from "./views.js";

const INTERVAL_MS = 1000;
const VIEWS = {
  report: ["Report", () => new Report()],
  overview: ["Overview", () => new views.Overview()],
  timeline: ["Timeline", () => new Timeline(ask, views.explain)],
  tasks: ["Tasks", () => new views.Tasks()],
  workers: ["Workers", () => new views.Workers()],
  blocks: ["Memory", () => new views.Blocks()],
  transfers: ["Transfers", () => new views.Transfers()],
  graph: ["Graph", () => new Graph()],
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
let over = false;

function key() {
  const asked = location.hash.slice(1);
  return asked in links ? asked : Object.keys(links)[0];
}

function choose() {
  const chosen = key();
  view?.leave?.();
  for (const [other, link] of Object.entries(links)) {
    if (other === chosen) {
      link.setAttribute("aria-current", "page");
      // On a phone the views are more than fit.
      link.scrollIntoView({ block: "nearest", inline: "center" });
    } else link.removeAttribute("aria-current");
  }
  view = VIEWS[chosen][1]();
  document.title = `${VIEWS[chosen][0]} · freestone`;
  main.setAttribute("aria-busy", "true");
  main.replaceChildren(view.node);
  refresh();
}

// Which views there are depends on what is shown: a run that goes on, or what was recorded of one.
function offer(views) {
  for (const one of views) {
    links[one] = el("a", { href: `./#${one}` }, VIEWS[one][0]);
    document.querySelector("nav").append(links[one]);
  }
  choose();
}

function report(summary) {
  document.getElementById("about").textContent = summary.recorded
    ? `${summary.recorded}${summary.now_s ? `, ${seconds(summary.now_s)}` : ""}` : `process ${summary.pid}, up ${seconds(summary.now_s)}`;
  if (!links.failures) return;
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
    if (!view) return offer(summary.views);
    views.sample(summary);
    report(summary);
    await shown.update(summary);
    if (shown === view) main.removeAttribute("aria-busy");
    over = Boolean(summary.recorded) && !summary.goes_on;
    tell(over ? "recorded" : "live", false);
  } catch (error) {
    ended = error.status === 410;
    tell(ended ? "the cluster is closed" : "no answer: the program ended, or is busy", true);
  } finally {
    asking = false;
    // What is over is not asked for again; a view that was chosen meanwhile is.
    if (shown !== view || !over) timer = setTimeout(refresh, shown === view ? INTERVAL_MS : 0);
  }
}

addEventListener("hashchange", () => view && choose());
document.addEventListener("visibilitychange", refresh);
refresh();
