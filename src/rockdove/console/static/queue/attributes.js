// The attributes of the queue as they are, and the form that changes them; purging and deleting.

import { editor } from "../attribute.js";
import { $, say } from "../dom.js";
import { call } from "../form.js";
import { notice } from "../page.js";
import { sure } from "../sure.js";
import { bytes, count, duration, moment } from "../words.js";
import { figures, name, Part } from "./part.js";

const address = `/api/queues/${encodeURIComponent(name)}`;
const READERS = {
  seconds: (value) => (Number(value) >= 60 ? duration(Number(value)) : `${value} s`),
  bytes: (value) => bytes(Number(value)),
  ms: (value) => `${value} ms`,
  moment: (value) => moment(Number(value)),
};

export const attributes = new Part("attributes", {
  read: () => call(`${address}/attributes`),
  draw: ({ attributes }) => {
    for (const line of document.querySelectorAll("#attributes [data-attribute]")) fill(line, attributes);
  },
});

function fill(line, attributes) {
  const { attribute, default: usual, show } = line.dataset;
  const value = attributes[attribute];
  const reader = /^\d+$/.test(value) && READERS[show];
  const text = value === undefined || value === "" ? (usual ? `${usual} (default)` : "not set") : reader ? reader(value) : value;
  say(line.querySelector("dd"), text);
  line.classList.toggle("unset", value === undefined || value === "" || value === usual);
}

const edit = editor(name, () => {
  notice("The attributes are changed.");
  attributes.load();
});
for (const opener of document.querySelectorAll(".edit-attributes")) {
  opener.addEventListener("click", () => edit.open().catch((problem) => notice(problem.message, "bad")));
}

function holds() {
  const { row } = figures;
  if (!row) return "";
  const all = (row.visible ?? 0) + (row.in_flight ?? 0) + (row.delayed ?? 0);
  return all ? ` It holds ${count(all)} ${all === 1 ? "message" : "messages"} now.` : " It holds no messages now.";
}

$("purge").addEventListener("click", () =>
  sure({
    title: `Purge ${name}?`,
    text: `All its messages are deleted, those in flight, too. They cannot be got back.${holds()}`,
    button: "Purge",
    name,
    act: (typed) => call(`${address}/purge`, { typed }),
    done: () => notice("The queue is purged."),
  }),
);
$("delete").addEventListener("click", () =>
  sure({
    title: `Delete ${name}?`,
    text: `The queue and all its messages are deleted. They cannot be got back.${holds()}`,
    button: "Delete",
    name,
    act: (typed) => call(`${address}/delete`, { typed }),
    done: () => location.assign("/"),
  }),
);

attributes.load();
