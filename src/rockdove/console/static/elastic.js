// Elastic queues: which there are, and of one what it does over time, its workers, and what its controller has decided.

import { Chart } from "./chart.js";
import { $, make, say, sync } from "./dom.js";
import { amount, count, rate, seconds, share } from "./figure.js";
import { call } from "./form.js";
import { notice } from "./page.js";
import { moment } from "./words.js";

const EVERY_MS = 2000;
const STATES = {
  on: "scaling",
  paused: "paused",
  late: "silent",
  none: "no controller",
};
const ACTS = { elect: "may go", reduce: "gets less", cancel: "stays", drain: "drains", remove: "goes" };
const account = document.body.dataset.account;
let chosen = $("list").dataset.asked;
let shown = null;
let points = null;
let busy = false;

const charts = [
  new Chart($("production-chart"), { title: "Production, messages a second", series: [{ label: "production", colour: "--c1", column: "production", fill: true }], value: amount }),
  new Chart($("load-chart"), {
    title: "Load: messages waiting in a physical queue",
    series: [
      { label: "greatest", colour: "--c2", column: "max_load", fill: true },
      { label: "average", colour: "--c4", column: "average_load" },
      { label: "maxLoad", colour: "--c3", column: "limit" },
    ],
    value: amount,
  }),
  new Chart($("workers-chart"), {
    title: "Workers",
    series: [
      { label: "working", colour: "--c1", column: "workers", fill: true },
      { label: "starting", colour: "--c2", column: "starting" },
      { label: "wanted by the rule", colour: "--c5", column: "target" },
    ],
    value: count,
  }),
];

async function look() {
  if (busy) return;
  busy = true;
  try {
    const { queues, ready, most } = await call("/api/elastic");
    $("trouble").hidden = true;
    list(queues, ready, most);
    if (chosen) await detail();
  } catch (problem) {
    say($("trouble"), problem.message);
    $("trouble").hidden = false;
    $("waiting").hidden = true;
  } finally {
    busy = false;
  }
}

function list(queues, ready, most) {
  say($("count"), ready ? count(queues.length) : "");
  say($("progress"), queues.length > most ? `Over time, the first ${most} are shown.` : "");
  $("list").hidden = !queues.length;
  $("none").hidden = Boolean(queues.length) || !ready;
  $("waiting").hidden = queues.length > 0 || ready;
  if (queues.length && !queues.some((queue) => queue.name === chosen)) choose(queues[0].name);
  sync($("rows"), queues, (queue) => queue.name, row, fill);
}

function row({ name }) {
  const made = make("tr");
  const open = make("a", "", name);
  open.href = `/elastic?${new URLSearchParams({ queue: name })}`;
  open.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(name);
    look();
  });
  made.append(make("td", "", open), make("td", "", make("span", "badge")), make("td"));
  for (let place = 0; place < 5; place += 1) made.append(make("td", "number"));
  made.append(make("td", "why"));
  return made;
}

function fill(element, queue) {
  const cells = element.cells;
  if (queue.name === chosen) cells[0].firstChild.setAttribute("aria-current", "true");
  else cells[0].firstChild.removeAttribute("aria-current");
  badge(cells[1].firstChild, queue.controller);
  say(cells[2], queue.policy);
  say(cells[3], queue.workers === null ? "–" : queue.starting ? `${count(queue.workers)} + ${count(queue.starting)}` : count(queue.workers));
  say(cells[4], count(queue.most));
  say(cells[5], queue.load === null ? "–" : count(queue.load));
  cells[5].classList.toggle("bad", queue.load > queue.max_load);
  say(cells[6], amount(queue.max_load));
  say(cells[7], queue.production === null ? "–" : rate(queue.production));
  const last = queue.last_decision;
  say(cells[8], last ? `${moment(last.at)} ${act(last)}` : "");
}

function badge(element, state) {
  say(element, STATES[state]);
  element.className = `badge ${state === "on" ? "good" : state === "none" || state === "late" ? "bad" : ""}`;
}

function choose(name) {
  if (chosen !== name) history.replaceState(null, "", `/elastic?${new URLSearchParams({ queue: name })}`);
  chosen = name;
  shown = null;
  points = null;
}

async function detail() {
  const name = chosen;
  const since = points?.time.at(-1) ?? 0;
  const queue = await call(`/api/elastic/queue?${new URLSearchParams({ name, since })}`);
  if (name !== chosen) return;
  shown = queue;
  $("one").hidden = false;
  say($("one-name"), name);
  badge($("one-state"), queue.controller);
  $("one-queue").href = `/queues/${account || "000000000000"}/${encodeURIComponent(name)}`;
  tellHolder(queue);
  draw(queue);
  workers(queue);
  decisions(queue.decisions);
  settings(queue);
}

function tellHolder(queue) {
  const { controller, holder, held_until: until, updated, period_s: period, command, paused } = queue;
  const texts = {
    on: `${holder} scales this queue, and holds it until ${moment(until)}; it looks every ${seconds(period)}.`,
    paused: `${holder} holds this queue until ${moment(until)}, and is paused: it adds and removes nobody, and replaces workers that die.`,
    late: `${holder} holds this queue until ${moment(until)}, but has published nothing since ${moment(updated ?? 0)}. Look at its log; when its hold is over, another controller may take over.`,
    none: `Nobody scales this queue: workers neither come nor go. ${holder ? `${holder} did until ${moment(until)}. ` : ""}${paused ? "The next controller will find itself paused. " : ""}Start a controller on a machine that can run workers:`,
  };
  say($("holder"), texts[controller]);
  $("command").hidden = controller !== "none";
  say($("command"), command);
  const button = $("pause");
  say(button, paused ? "Resume" : "Pause");
  button.classList.toggle("main", paused);
}

// New points are added to those that are known; a chart is of the last two hours at most.
function draw({ points: fresh, max_load: limit }) {
  const columns = { ...fresh, limit: fresh.time.map(() => limit) };
  if (points) for (const name of Object.keys(columns)) points[name].push(...columns[name]);
  else points = columns;
  const surplus = points.time.length - 3600;
  if (surplus > 0) for (const column of Object.values(points)) column.splice(0, surplus);
  for (const chart of charts) chart.setHistory(points);
}

function workers({ parts, work }) {
  const build = () => {
    const made = make("tr");
    made.append(make("td", "number"), make("td", "", make("span", "badge")));
    for (const kind of ["number", "number", "number", "", "number", "number"]) made.append(make("td", kind));
    return made;
  };
  sync($("workers"), parts, (part) => part.number, build, (element, part) => {
    const { cells } = element;
    say(cells[0], String(part.number));
    say(cells[1].firstChild, part.state);
    cells[1].firstChild.className = `badge ${{ up: "good", away: "bad" }[part.state] ?? ""}`;
    const texts = [count(part.load), count(part.inFlight ?? null), part.share === undefined ? "–" : share(part.share), part.machine ?? "–", part.done === null || part.done === undefined ? "–" : count(part.done), count(part.failed ?? 0)];
    texts.forEach((text, place) => say(cells[place + 2], text.replace("?", "–")));
  });
  const known = work && work.service_s !== null;
  say($("work"), known ? `A worker takes ${seconds(work.service_s)} for a message; ${share(work.failure)} of them fail.` : "");
  const plan = known && points ? { arrival: Math.max(...points.production.slice(-300).filter(Number.isFinite), 0.1).toPrecision(3), service_ms: (work.service_s * 1000).toPrecision(3), threads: parts.length, reliability: (100 * (1 - work.failure)).toPrecision(4) } : {};
  $("one-plan").href = `/plan?${new URLSearchParams(plan)}`;
}

function decisions(found) {
  $("undecided").hidden = found.length > 0;
  const build = (each) => {
    const made = make("tr");
    made.append(make("td", "nowrap", moment(each.at)), make("td", "nowrap", make("span", `badge act-${each.act}`, act(each))), make("td", "", each.reason));
    return made;
  };
  sync($("decisions"), found, (each) => `${each.at} ${each.act} ${each.number}`, build);
}

function act({ act: what, workers: more, number }) {
  return what === "add" ? `${count(more ?? 1)} more` : `no. ${number ?? "?"} ${ACTS[what] ?? what}`;
}

const WORDS = {
  policy: ["rule", String],
  period_s: ["looks every", seconds],
  min_load: ["minLoad", amount],
  max_load: ["maxLoad", amount],
  min_workers: ["workers at least", count],
  max_workers: ["workers at most", count],
  slots: ["workers of a machine", count],
  pool: ["machines kept ready", count],
  safety_s: ["between two decisions", seconds],
};

function settings(queue) {
  const values = { policy: queue.policy, period_s: queue.period_s, min_load: queue.min_load, max_load: queue.max_load, min_workers: queue.least, max_workers: queue.most, ...queue.others };
  const rows = Object.entries(values).map(([name, value]) => [WORDS[name]?.[0] ?? name, (WORDS[name]?.[1] ?? String)(value)]);
  if (queue.machines !== null) rows.push(["machines now", count(queue.machines)]);
  sync($("settings"), rows, ([name]) => name, () => make("div", "", make("dt"), make("dd")), (element, [name, text]) => {
    say(element.firstChild, name);
    say(element.lastChild, text);
  });
}

$("pause").addEventListener("click", async () => {
  const paused = !shown.paused;
  try {
    await call("/api/elastic/control", { name: chosen, paused });
    notice(paused ? `The controller of ${chosen} pauses from its next round on.` : `The controller of ${chosen} goes on from its next round.`);
    await look();
  } catch (problem) {
    notice(problem.message, "bad");
  }
});

setInterval(() => document.visibilityState === "visible" && look(), EVERY_MS);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
look();
