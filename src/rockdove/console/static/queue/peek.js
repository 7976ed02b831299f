// Looking at messages: a page of them, kept up to date while it is the first one.

import { $, make, say, sync } from "../dom.js";
import { on } from "../page.js";
import { bytes, count, duration, moment } from "../words.js";
import { details, firstLine } from "./message.js";
import { figures, get, Part } from "./part.js";

// At most one look in so many milliseconds.
const PAUSE_MS = 300;

const form = $("peek-form");
const live = $("peek-live");
// The tokens of the pages before this one.
let token = "";
let next = null;
let number = 1;
let lastMs = 0;
let waiting = 0;
let seen = "";

const part = new Part("peek", {
  read: () => get(`peek?${new URLSearchParams({ ...Object.fromEntries(new FormData(form)), token })}`),
  draw,
});

// Ids of messages that are shown in full, each in a row of its own below its line.
const opened = new Set();
let messages = [];

function drawRows() {
  const rows = messages.flatMap((message) =>
    opened.has(message.id) ? [{ message }, { message, isOpen: true }] : [{ message }],
  );
  sync($("peek-rows"), rows, ({ message, isOpen }) => `${message.id} ${isOpen ?? ""}`, build, fill);
}

function draw(page) {
  next = page.next;
  messages = page.messages;
  drawRows();
  const empty = $("peek-empty");
  empty.hidden = page.messages.length > 0;
  const chosen = [...new FormData(form).values()].some(Boolean);
  empty.textContent = number > 1 ? "There are no more messages." : chosen ? "No message fits. Choose others above." : "The queue is empty. Send it a message.";
  say($("peek-page"), number > 1 || next ? `page ${number}` : "");
  $("peek-first").disabled = number === 1;
  $("peek-next").disabled = !next || !page.messages.length;
}

function build({ message, isOpen }) {
  if (isOpen) {
    const cell = Object.assign(make("td", "", details(message, ["ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"])), { colSpan: 5 });
    return make("tr", "open", cell);
  }
  const open = make("button", "opener", firstLine(message));
  open.type = "button";
  const cells = ["", "", "number", "number", "number"].map((kind) => make("td", kind));
  cells[0].append(open);
  const row = make("tr", "", ...cells);
  row.dataset.testid = "peek-row";
  open.addEventListener("click", () => {
    if (!opened.delete(message.id)) opened.add(message.id);
    drawRows();
  });
  return Object.assign(row, { parts: cells, open });
}

function fill(row, { message, isOpen }) {
  if (isOpen) return;
  row.open.setAttribute("aria-expanded", String(opened.has(message.id)));
  const [, state, sent, receives, size] = row.parts;
  drawState(state, message);
  say(sent, message.sent === undefined ? "" : moment(message.sent));
  say(receives, count(message.receives ?? 0));
  say(size, bytes(message.size));
}

function drawState(cell, message) {
  const key = `${message.state} ${message.group ?? ""}`;
  if (cell.dataset.key !== key) {
    cell.dataset.key = key;
    const group = message.group ? make("span", "badge", message.group) : "";
    cell.replaceChildren(make("span", `state ${message.state}`, message.state.replace("-", " ")), " ", group);
  }
  const left = message.visible_from ? message.visible_from - Date.now() / 1000 : 0;
  cell.title = left > 0 && message.state !== "visible" ? `visible again in ${duration(Math.ceil(left))}` : "";
}

function look() {
  lastMs = performance.now();
  return part.load();
}

// At once, or as soon as there was a pause.
export function lookSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(look, Math.max(0, lastMs + PAUSE_MS - performance.now()));
}

function restart() {
  token = "";
  number = 1;
  lookSoon();
}

form.addEventListener("change", restart);
form.addEventListener("submit", (event) => event.preventDefault());
$("peek-again").addEventListener("click", look);
$("peek-first").addEventListener("click", restart);
$("peek-next").addEventListener("click", () => {
  token = next;
  number += 1;
  look();
});

// Whenever something has happened in the queue.
on("queue", () => {
  form.elements.physical.closest("label").hidden = figures.row.physical === 1;
  const { visible, in_flight, delayed } = figures.row;
  const now = `${visible} ${in_flight} ${delayed}`;
  if (now === seen) return;
  seen = now;
  if (live.checked && number === 1 && part.isSeen) lookSoon();
});
on("point", (point) => {
  if (live.checked && number === 1 && part.isSeen && (point.sent || point.received || point.deleted)) lookSoon();
});
live.addEventListener("change", () => live.checked && restart());

look();
