// The four charts, and the figures above them.

import { Chart } from "../chart.js";
import { $, link, say } from "../dom.js";
import { on } from "../page.js";
import { count, duration, rate } from "../words.js";
import { figures, name, pageOf } from "./part.js";

const HEIGHT = 150;

// Of seconds, short enough for an axis: 0.8 ms, 45 ms, 1.5 s, 2.5 min.
function latency(seconds) {
  if (seconds >= 3600) return `${+(seconds / 3600).toFixed(1)} h`;
  if (seconds >= 60) return `${+(seconds / 60).toFixed(1)} min`;
  if (seconds >= 1) return `${+seconds.toFixed(1)} s`;
  const ms = seconds * 1000;
  return `${ms < 10 ? +ms.toFixed(1) : Math.round(ms)} ms`;
}

const whole = (value) => (Number.isInteger(value) ? count(value) : rate(value));
const box = (id) => $(`chart-${id}`);
const charts = [
  new Chart(box("rates"), {
    series: [
      { label: "in", colour: "--c1", column: "sent", fill: true },
      { label: "out", colour: "--c2", column: "received" },
      { label: "deleted", colour: "--c4", column: "deleted" },
    ],
    value: rate,
    height: HEIGHT,
  }),
  new Chart(box("depth"), {
    series: [
      { label: "visible", colour: "--c1", column: "visible", fill: true },
      { label: "in flight", colour: "--c2", column: "in_flight" },
      { label: "delayed", colour: "--c5", column: "delayed" },
    ],
    value: whole,
    height: HEIGHT,
  }),
  new Chart(box("latency"), {
    series: [
      { label: "median", colour: "--c1", column: "p50", dots: true },
      { label: "95 %", colour: "--c2", column: "p95", dots: true },
      { label: "99 %", colour: "--c3", column: "p99", dots: true },
    ],
    value: latency,
    height: HEIGHT,
  }),
  new Chart(box("missed"), {
    series: [{ label: "missed", colour: "--c3", column: "empty", fill: true }],
    value: rate,
    height: HEIGHT,
  }),
];

on("history", (columns) => {
  $("gone").hidden = true;
  for (const chart of charts) chart.setHistory(columns);
});
on("point", (point) => {
  // It may have been created anew.
  $("gone").hidden = true;
  for (const chart of charts) chart.push(point);
});
on("gone", () => ($("gone").hidden = false));

// Rows leave out what has its default.
const DEFAULTS = { visible: 0, in_flight: 0, delayed: 0, oldest: null, leased: 0, physical: 1, dead_letter: null, max_receives: null, rate_in: 0, rate_out: 0 };

on("queue", (told) => {
  const row = { ...DEFAULTS, ...told };
  figures.row = row;
  for (const what of ["visible", "in_flight", "delayed"]) say($(`now-${what}`), count(row[what]));
  for (const what of ["rate_in", "rate_out"]) say($(`now-${what}`), rate(row[what]));
  document.title = `${name} (${count(row.visible)}) · Rockdove`;
  age();
  dead(row);
  say($("leases-count"), row.leased ? count(row.leased) : "");
});

function age() {
  const oldest = figures.row?.oldest ?? null;
  say($("now-oldest"), oldest === null ? "–" : duration(Math.floor(Math.max(0, Date.now() / 1000 - oldest))));
}
setInterval(age, 1000);

function dead(row) {
  const box = $("now-dead");
  const text = row.dead_letter ? `${row.dead_letter} after ${row.max_receives}` : "none";
  if (box.dataset.text === text) return;
  box.dataset.text = text;
  if (!row.dead_letter) return box.replaceChildren("none");
  const target = row.dead_letter.startsWith("arn:") ? row.dead_letter : link(pageOf(row.dead_letter), row.dead_letter);
  box.replaceChildren(target, ` after ${row.max_receives}`);
}
