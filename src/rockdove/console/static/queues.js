// The list of queues: live figures, search, order; creating, editing, purging and deleting.

import { onTheme } from "./colour.js";
import { call, closable, handle, Problem, readAll } from "./form.js";
import { notice, on, subscribe } from "./page.js";
import { Spark } from "./spark.js";
import { LiveTable, set } from "./table.js";
import { count, duration, rate } from "./words.js";

const account = document.body.dataset.account;
const $ = (id) => document.getElementById(id);
const search = $("search");
const busy = $("busy");
// The service's clock, in seconds since 1970, as of the last event.
let clock = { time: Date.now() / 1000, at: performance.now() };
let barS = 5;
const sparks = new Map();

const address = (name) => `/queues/${account}/${encodeURIComponent(name)}`;
const now = () => clock.time + (performance.now() - clock.at) / 1000;

// Rows leave out what has its default.
const WITH_DEFAULTS = {
  fifo: false, visible: 0, in_flight: 0, delayed: 0, oldest: null, leased: 0, physical: 1, dead_letter: null,
  max_receives: null, rate_in: 0, rate_out: 0,
};

const table = new LiveTable({
  table: $("queues"),
  template: $("row"),
  key: (row) => row.name,
  sort: { name: "name", down: false },
  by: {
    name: (row) => row.name,
    visible: (row) => row.visible,
    in_flight: (row) => row.in_flight,
    delayed: (row) => row.delayed,
    oldest: (row) => (row.oldest === null ? null : -row.oldest),
    rate_in: (row) => row.rate_in,
    rate_out: (row) => row.rate_out,
    dead_letter: (row) => row.dead_letter,
  },
  isShown: (row) => matches(row) && (!busy.checked || isBusy(row)),
  fill,
  draw,
});

let words = [];
const matches = (row) => words.every((word) => row.name.toLowerCase().includes(word));
const isBusy = (row) => row.visible || row.in_flight || row.delayed || row.rate_in || row.rate_out;

function fill(view, row) {
  if (!view.link) prepare(view, row);
  set(view, 1, count(row.visible));
  set(view, 2, count(row.in_flight));
  set(view, 3, count(row.delayed));
  age(view);
  set(view, 5, rate(row.rate_in));
  set(view, 6, rate(row.rate_out));
  badges(view, row);
  deadLetters(view, row);
}

function prepare(view, row) {
  view.link = view.cells[0].querySelector("a");
  view.link.textContent = row.name;
  view.link.href = address(row.name);
  view.badges = view.cells[0].querySelector(".badges");
  view.canvas = view.cells[7].querySelector("canvas");
  view.button = view.cells[9].querySelector("button");
  view.button.setAttribute("aria-label", `Actions for ${row.name}`);
}

function badges(view, row) {
  const texts = [];
  if (row.fifo) texts.push("FIFO");
  if (row.physical > 1) texts.push(`${row.physical} physical`);
  if (row.leased) texts.push(`${count(row.leased)} leased`);
  const text = texts.join("|");
  if (view.badgeText === text) return;
  view.badgeText = text;
  view.badges.replaceChildren(...texts.map((words) => element("span", "badge", words)));
}

function deadLetters(view, row) {
  const text = row.dead_letter ? `${row.dead_letter} ${row.max_receives ?? ""}` : "";
  if (view.texts[8] === text) return;
  view.texts[8] = text;
  const cell = view.cells[8];
  if (!row.dead_letter) return cell.replaceChildren();
  if (row.dead_letter.startsWith("arn:")) return cell.replaceChildren(row.dead_letter.split(":").slice(-2).join("/"));
  const link = element("a", "", row.dead_letter);
  link.href = address(row.dead_letter);
  cell.replaceChildren(link, element("span", "soft", row.max_receives ? ` after ${row.max_receives}` : ""));
}

function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

function age(view) {
  const { oldest } = view.row;
  set(view, 4, oldest === null ? "" : duration(Math.floor(Math.max(0, now() - oldest))));
}

function draw(view) {
  const spark = sparks.get(view.name);
  if (!spark) return;
  spark.shift(now());
  spark.draw(view.canvas, ...sparkSize);
}

// As in the style sheet: on a phone it is as wide as the row.
const narrow = matchMedia("(max-width: 760px)");
let sparkSize = [150, 26];
function measure() {
  sparkSize = [narrow.matches ? $("queues").clientWidth - 24 : 150, 26];
  table.drawAll();
}
addEventListener("resize", measure);

// What comes from the service.

on("rows", (told) => {
  clock = { time: told.time, at: performance.now() };
  const rows = told.rows.map((row) => ({ ...WITH_DEFAULTS, ...row }));
  if (told.whole) {
    barS = told.bar_s;
    sparks.clear();
  }
  for (const row of rows) learn(row, told);
  if (told.whole) table.replace(rows);
  else {
    table.update(rows);
    if (told.gone?.length) forget(told.gone);
  }
  $("waiting").hidden = true;
  total();
});

function learn(row, { time, seconds, whole }) {
  let spark = sparks.get(row.name);
  if (!spark) {
    spark = new Spark(row.bars, barS);
    spark.shift(time);
    sparks.set(row.name, spark);
  } else if (!whole) spark.add(time, seconds, row.new_in ?? 0, row.new_out ?? 0);
  delete row.bars;
}

function forget(names) {
  table.remove(names);
  for (const name of names) sparks.delete(name);
  table.arrange();
}

const SUMS = ["visible", "in_flight", "delayed", "rate_in", "rate_out"];

function total() {
  const sums = Object.fromEntries(SUMS.map((name) => [name, 0]));
  for (const { row } of table.views.values()) for (const name of SUMS) sums[name] += row[name] ?? 0;
  for (const name of SUMS) {
    const text = name.startsWith("rate") ? rate(sums[name]) : count(sums[name]);
    const box = $(`total-${name}`);
    if (box.textContent !== text) box.textContent = text;
  }
}

table.onArranged = (shown, all) => {
  $("count").textContent = shown === all ? count(all) : `${count(shown)} of ${count(all)}`;
  const empty = $("empty");
  empty.hidden = shown > 0;
  empty.textContent = all ? "No queue fits. Change the search, or show idle queues, too." : "There are no queues yet. Create the first one.";
};

// Ages and sparklines go on when nothing comes.
setInterval(() => {
  for (const view of table.onscreen) {
    age(view);
    draw(view);
  }
}, 1000);
onTheme(() => table.drawAll());

// Search.

function look() {
  words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  table.arrange();
}
search.addEventListener("input", look);
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && search.value) {
    search.value = "";
    look();
  }
  if (event.key === "Enter") {
    const first = table.body.querySelector("tr:not([hidden]) a");
    if (first) location.assign(first.href);
  }
});
busy.addEventListener("change", look);

// The menu of a row.

const menu = $("queue-menu");
let subject = "";

table.body.addEventListener("click", (event) => {
  const button = event.target.closest("button.dots");
  if (!button) return;
  subject = button.closest("tr").view.name;
  menu.showPopover({ source: button });
  const box = button.getBoundingClientRect();
  const top = Math.min(box.bottom + 4, innerHeight - menu.offsetHeight - 8);
  menu.style.left = `${Math.max(8, box.right - menu.offsetWidth)}px`;
  menu.style.top = `${top}px`;
  menu.opener = button;
  menu.querySelector("button").focus();
});
menu.addEventListener("keydown", (event) => {
  const items = [...menu.querySelectorAll("button")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
});
menu.addEventListener("toggle", (event) => {
  if (event.newState === "closed" && document.activeElement === document.body) menu.opener?.focus();
});
menu.addEventListener("click", (event) => {
  const what = event.target.dataset.do;
  if (!what) return;
  menu.hidePopover();
  ({ open: () => location.assign(address(subject)), edit, purge, delete: remove })[what]();
});
// It would stay behind.
addEventListener("scroll", () => menu.matches(":popover-open") && menu.hidePopover(), { passive: true });

// Creating.

const createDialog = $("create-dialog");
const createForm = $("create-form");

function listQueues(list, fifo) {
  const names = table.rows.filter((row) => row.fifo === fifo).map((row) => row.name);
  $(list).replaceChildren(...names.slice(0, 500).map((name) => Object.assign(document.createElement("option"), { value: name })));
}

// Attributes for the other kind of queue are not shown, and not sent.
function kind(form, list, fifo) {
  for (const field of form.querySelectorAll("[data-only]")) {
    const off = field.dataset.only !== (fifo ? "fifo" : "standard");
    field.hidden = off;
    for (const input of field.querySelectorAll("input, select, textarea")) input.disabled = off;
  }
  for (const group of form.querySelectorAll(".group")) {
    group.hidden = [...group.querySelectorAll(".field")].every((field) => field.hidden);
  }
  listQueues(list, fifo);
}

function attributes(form) {
  const values = {};
  for (const input of form.querySelectorAll(".group [name]")) if (!input.disabled) values[input.name] = input.value;
  return values;
}

const isFifo = () => createForm.elements.type.value === "fifo";
for (const choice of createForm.elements.type) choice.addEventListener("change", () => kind(createForm, "new-queues", isFifo()));
$("create").addEventListener("click", () => {
  kind(createForm, "new-queues", isFifo());
  createDialog.showModal();
  readAll(createForm);
  createForm.elements.name.focus();
});
handle(
  createForm,
  () => call("/api/queues", { name: createForm.elements.name.value, fifo: isFifo(), attributes: attributes(createForm) }),
  ({ name }) => {
    createDialog.close();
    createForm.reset();
    notice(`The queue ${name} is there.`);
  },
);

// Editing.

const editDialog = $("edit-dialog");
const editForm = $("edit-form");
let before = {};

async function edit() {
  const name = subject;
  try {
    before = (await call(`/api/queues/${encodeURIComponent(name)}/attributes`)).attributes;
  } catch (problem) {
    return notice(problem.message, "bad");
  }
  editForm.reset();
  kind(editForm, "edit-queues", before.FifoQueue === "true");
  for (const input of editForm.querySelectorAll(".group [name]")) input.value = before[input.name] ?? "";
  for (const subject of editDialog.querySelectorAll(".subject")) subject.textContent = name;
  editDialog.showModal();
  readAll(editForm);
}
handle(
  editForm,
  () => {
    const now = attributes(editForm);
    const changes = Object.fromEntries(Object.entries(now).filter(([name, value]) => value.trim() !== (before[name] ?? "")));
    if (!Object.keys(changes).length) throw new Problem({ error: "Nothing has changed." });
    return call(`/api/queues/${encodeURIComponent(subject)}/attributes`, { attributes: changes });
  },
  () => {
    editDialog.close();
    notice(`The attributes of ${subject} are changed.`);
  },
);

// Purging and deleting.

const sureDialog = $("sure-dialog");
const sureForm = $("sure-form");
let deed = "";

function ask(what, title, text, button) {
  deed = what;
  const row = table.views.get(subject)?.row;
  $("sure-title").textContent = title;
  $("sure-text").textContent = `${text} ${holds(row)}`;
  $("sure-submit").textContent = button;
  for (const box of sureDialog.querySelectorAll(".subject")) box.textContent = subject;
  sureForm.reset();
  sureDialog.showModal();
}

function holds(row) {
  if (!row) return "";
  const all = (row.visible ?? 0) + (row.in_flight ?? 0) + (row.delayed ?? 0);
  return all ? `It holds ${count(all)} ${all === 1 ? "message" : "messages"} now.` : "It holds no messages now.";
}

const purge = () => ask("purge", `Purge ${subject}?`, "All its messages are deleted, those in flight, too. They cannot be got back.", "Purge");
const remove = () => ask("delete", `Delete ${subject}?`, "The queue and all its messages are deleted. They cannot be got back.", "Delete");

handle(
  sureForm,
  () => call(`/api/queues/${encodeURIComponent(subject)}/${deed}`, { typed: sureForm.elements.typed.value }),
  () => {
    sureDialog.close();
    if (deed === "delete") forget([subject]);
    notice(deed === "delete" ? `The queue ${subject} is deleted.` : `The queue ${subject} is purged.`);
  },
);

for (const dialog of [createDialog, editDialog, sureDialog]) closable(dialog);
measure();
subscribe({ page: "queues" });
