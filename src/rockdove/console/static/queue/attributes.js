// The attributes of the queue as they are, and the form that changes them; purging and deleting.

import { editor, ruin } from "../attribute.js";
import { $, say } from "../dom.js";
import { call } from "../form.js";
import { notice } from "../page.js";
import { bytes, duration, moment } from "../words.js";
import { figures, name, Part } from "./part.js";

const READERS = {
  seconds: (value) => (Number(value) >= 60 ? duration(Number(value)) : `${value} s`),
  bytes: (value) => bytes(Number(value)),
  ms: (value) => `${value} ms`,
  moment: (value) => moment(Number(value)),
};

const attributes = new Part("attributes", {
  read: () => call(`/api/queues/${encodeURIComponent(name)}/attributes`),
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

const edit = editor(() => {
  notice("The attributes are changed.");
  attributes.load();
});
for (const opener of document.querySelectorAll(".edit-attributes")) {
  opener.addEventListener("click", () => edit(name).catch((problem) => notice(problem.message, "bad")));
}
$("purge").addEventListener("click", () => ruin("purge", name, figures.row, () => notice("The queue is purged.")));
$("delete").addEventListener("click", () => ruin("delete", name, figures.row, () => location.assign("/")));

attributes.load();
