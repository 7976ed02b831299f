// The list of queues: live figures, search, order; creating, editing, purging and deleting.

import { editor, fit, offerQueues, ruin, values } from "./attribute.js";
import { onTheme } from "./colour.js";
import { call, closable, handle, readAll } from "./form.js";
import { menu, openMenu } from "./menu.js";
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

const actions = $("queue-menu");
let subject = "";
const about = () => table.views.get(subject)?.row;

table.body.addEventListener("click", (event) => {
  const button = event.target.closest("button.dots");
  if (!button) return;
  subject = button.closest("tr").view.name;
  openMenu(actions, button);
});
menu(actions, {
  open: () => location.assign(address(subject)),
  edit: () => edit(subject).catch((problem) => notice(problem.message, "bad")),
  purge: () => ruin("purge", subject, about(), () => notice(`The queue ${subject} is purged.`)),
  delete: () =>
    ruin("delete", subject, about(), () => {
      forget([subject]);
      notice(`The queue ${subject} is deleted.`);
    }),
});
const edit = editor((name) => notice(`The attributes of ${name} are changed.`));

// Creating.

const createDialog = $("create-dialog");
const createForm = $("create-form");

const isFifo = () => createForm.elements.type.value === "fifo";
function kind() {
  fit(createForm, isFifo());
  offerQueues("new-queues", isFifo());
}
for (const choice of createForm.elements.type) choice.addEventListener("change", kind);
$("create").addEventListener("click", () => {
  kind();
  createDialog.showModal();
  readAll(createForm);
  createForm.elements.name.focus();
});
handle(
  createForm,
  () => call("/api/queues", { name: createForm.elements.name.value, fifo: isFifo(), attributes: values(createForm) }),
  ({ name }) => {
    createDialog.close();
    createForm.reset();
    notice(`The queue ${name} is there.`);
  },
);

closable(createDialog);
measure();
subscribe({ page: "queues" });
