// A report: figures of all queues or of one, over time, and a table that leads from one to the next.

import { Chart } from "./chart.js";
import { $, make, say, sync } from "./dom.js";
import { amount, count, milliseconds, rate, share } from "./figure.js";
import { call } from "./form.js";
import { moment } from "./words.js";

const { report, live } = $("report").dataset;
const EVERY_MS = 3000;
let queue = $("report").dataset.queue;
let found = null;
let order = null;
let busy = false;

const percentiles = (kind) => [50, 95, 99].map((at, place) => ({ label: `${at} %`, colour: ["--c1", "--c2", "--c3"][place], column: `${kind}_p${at}_ms` }));
const charts = [
  chart("rates", "Messages a second", amount, ["sent", "--c1", "send_rate", true], ["received and deleted", "--c2", "receive_delete_rate"]),
  new Chart($("chart-delivery"), { title: "Delivery: from send to first receive", series: percentiles("delivery"), value: milliseconds }),
  new Chart($("chart-response"), { title: "Response time", series: percentiles("response"), value: milliseconds }),
  chart("order", "Order and duplicates", share, ["out of order", "--c5", "out_of_order_rate"], ["duplicates", "--c3", "duplication_rate"]),
  live
    ? chart("stays", "Work on a message", milliseconds, ["mean", "--c1", "work_ms", true])
    : chart("stays", "Messages in the queue", count, ["waiting", "--c1", "waiting", true], ["in flight", "--c2", "in_flight"]),
  live
    ? chart("misses", "Requests that found nothing", share, ["misses", "--c4", "miss_ratio"])
    : chart("misses", "Misses, and utilisation", share, ["misses", "--c4", "miss_ratio"], ["utilisation", "--c2", "utilisation"]),
];

function chart(name, title, value, ...series) {
  return new Chart($(`chart-${name}`), { title, value, series: series.map(([label, colour, column, fill]) => ({ label, colour, column, fill })) });
}

// name, column, words, whether more than nothing is bad.
const COLUMNS = [
  ["sent", "sent", count],
  ["received", "received", count],
  ...(live ? [["arrivals/s", "send_rate", rate], ["served/s", "receive_delete_rate", rate]] : [["lost", "lost", count, true]]),
  ["duplicates", "duplication_rate", share],
  ["out of order", "out_of_order_rate", share],
  ["displacement", "displacement", amount],
  ["response p99", "response_p99_ms", milliseconds],
  ["delivery p50", "delivery_p50_ms", milliseconds],
  ["delivery p99", "delivery_p99_ms", milliseconds],
  ["misses", "miss_ratio", share],
  ...(live ? [["work", "work_ms", milliseconds], ["failed", "failed", count, true]] : [["utilisation", "utilisation", share]]),
];

const address = (what, more = {}) => `/api/analysis/${what}?${new URLSearchParams({ report, ...more })}`;

async function look() {
  if (busy) return;
  busy = true;
  try {
    found = await call(address("figures", { search: $("search").value.trim(), span: $("span")?.value ?? "" }));
    $("report").hidden = false;
    $("trouble").hidden = true;
    tell();
  } catch (problem) {
    say($("trouble"), problem.message);
    $("trouble").hidden = false;
  } finally {
    $("waiting").hidden = true;
    busy = false;
  }
}

// Only if something has changed since it was drawn.
let drawn = "";
async function draw() {
  const state = JSON.stringify([queue, found?.newest, found?.counts]);
  if (state === drawn) return;
  if (!live || !drawn) say($("each"), "Reading what was over time…");
  try {
    const wanted = queue;
    const { windows } = await call(address("windows", queue ? { queue } : {}));
    if (wanted !== queue) return;
    $("chart-trouble").hidden = true;
    const each = windows.each?.[0] ?? 1;
    say($("each"), each > 1 ? `Each point is ${count(each)} windows: rates are their mean, all else is the worst of them.` : "");
    const empty = windows.time.map(() => null);
    for (const one of charts) for (const { column } of one.series) windows[column] ??= empty;
    for (const one of charts) one.setHistory(windows);
    drawn = state;
  } catch (problem) {
    say($("each"), "");
    say($("chart-trouble"), problem.message);
    $("chart-trouble").hidden = false;
  }
}

function tell() {
  const { overall, queues, all, begin, end, newest, counts } = found;
  say($("count"), count(all));
  if (live) {
    const age = newest === null ? null : Date.now() / 1000 - newest;
    say($("period"), newest === null ? "The watch has seen no event yet." : `up to ${moment(newest)}, ${count(counts.events)} events`);
    const still = age !== null && age > 60;
    say($("pulse"), still ? "no events for a minute, or the watch has ended" : "live table");
    $("pulse").className = `badge ${still ? "bad" : "good"}`;
  } else if (begin) {
    say($("period"), `${begin.slice(0, 19).replace("T", " ")} to ${end.slice(0, 19).replace("T", " ")} UTC`);
  }
  const own = queue ? queues.find((row) => row.name === queue) : overall;
  say($("subject-name"), queue ? `Queue ${queue}` : "All queues");
  $("all-queues").hidden = !queue;
  if (own) totals(own);
  table(queues);
  $("none").hidden = all > 0;
  problems(found.problems);
}

function totals(own) {
  const cards = [
    ["Sent", count(own.sent), live ? "" : `${rate(own.send_rate)}/s`],
    ["Received", count(own.received), live ? "" : `${rate(own.receive_delete_rate)}/s deleted`],
    ...(live
      ? [["Arrivals", `${rate(own.send_rate)}/s`, ""], ["Served", `${rate(own.receive_delete_rate)}/s`, ""]]
      : [["Lost", count(own.lost), share(own.loss_rate), own.lost ? "bad" : "good"]]),
    ["Duplicates", count(own.duplicates), share(own.duplication_rate)],
    ["Out of order", share(own.out_of_order_rate), `by ${amount(own.displacement)} places`],
    ["Delivery, median", milliseconds(own.delivery_p50_ms), `99 %: ${milliseconds(own.delivery_p99_ms)}`],
    ["Response, median", milliseconds(own.response_p50_ms), `99 %: ${milliseconds(own.response_p99_ms)}`],
    ["Misses", share(own.miss_ratio), "of requests"],
    ...(live ? [["Work", milliseconds(own.work_ms), "on a message"]] : [["Utilisation", share(own.utilisation), "of the time"]]),
  ];
  const build = () => make("div", "", make("dt"), make("dd"), make("dd", "small soft"));
  sync($("totals"), cards, ([name]) => name, build, (element, [name, value, more, mood]) => {
    const [head, figure, below] = element.children;
    say(head, name);
    say(figure, value);
    figure.className = mood ?? "";
    say(below, more);
  });
  const text = live ? "" : own.lost ? "Lost: sent, and by the end of the trace neither received nor gone otherwise. If the queue was not drained, they may still be waiting in it." : "";
  say($("final"), text);
}

function heads() {
  const name = make("th", "", "queue");
  name.scope = "col";
  const cells = COLUMNS.map(([title, column]) => {
    const head = make("th", "number");
    head.scope = "col";
    const pressed = make("button", "", title);
    pressed.type = "button";
    pressed.addEventListener("click", () => {
      order = order?.column === column ? { column, down: !order.down } : { column, down: true };
      for (const each of $("heads").cells) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      table(found.queues);
    });
    head.append(pressed);
    return head;
  });
  $("heads").append(name, ...cells);
}

function table(queues) {
  const rows = [...queues];
  if (order) rows.sort((a, b) => (order.down ? -1 : 1) * ((a[order.column] ?? -1) - (b[order.column] ?? -1)));
  sync($("rows"), rows, (row) => row.name, build, (element, row) => {
    element.toggleAttribute("data-chosen", row.name === queue);
    COLUMNS.forEach(([, column, words, alarming], place) => {
      const cell = element.cells[place + 1];
      say(cell, words(row[column]).replace("?", "–"));
      cell.classList.toggle("bad", Boolean(alarming && row[column]));
    });
  });
  const more = found.all - queues.length;
  say($("count"), more ? `${count(found.all)}, of which the ${count(queues.length)} to look at first are here` : count(found.all));
}

function build({ name }) {
  const open = make("a", "", name);
  open.href = place(name);
  open.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(name);
    $("subject-name").scrollIntoView({ block: "center" });
  });
  const head = make("th", "name", open);
  head.scope = "row";
  return make("tr", "", head, ...COLUMNS.map(() => make("td", "number")));
}

const place = (name) => `/analysis?${new URLSearchParams(name ? { report, queue: name } : { report })}`;

function choose(name, remember = true) {
  queue = name;
  if (remember) history.pushState({ queue }, "", place(name));
  tell();
  draw();
}

function problems(all) {
  $("problems").hidden = !all.length;
  sync($("problem-list"), all.slice(-50), ({ path, what }) => `${path} ${what}`, ({ path, what }) => make("li", "", make("code", "break", path), ` ${what}`));
}

heads();
$("all-queues").addEventListener("click", () => choose(""));
addEventListener("popstate", () => choose(new URLSearchParams(location.search).get("queue") ?? "", false));
let typing = 0;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(look, 200);
});
$("span")?.addEventListener("change", look);
async function both() {
  await look();
  await draw();
}
if (live) setInterval(() => document.visibilityState === "visible" && both(), EVERY_MS);
both();
