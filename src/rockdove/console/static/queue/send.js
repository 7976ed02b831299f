// The form that sends a message.

import { $, say } from "../dom.js";
import { handle, readAll } from "../form.js";
import { bytes } from "../words.js";
import { post } from "./part.js";
import { lookSoon } from "./peek.js";

const form = $("send-form");
const fields = form.elements;
const rows = [...$("send-attributes").querySelectorAll(".row")];
const encoder = new TextEncoder();

function attributes() {
  return rows
    .map((_, index) => index + 1)
    .map((place) => ({
      place,
      name: fields[`a${place}-name`].value,
      kind: fields[`a${place}-kind`].value,
      value: fields[`a${place}-value`].value,
    }))
    .filter(({ name, value }) => name || value);
}

handle(
  form,
  () => {
    say($("sent-note"), "");
    return post("send", {
      body: fields.body.value,
      delay: fields.delay?.value ?? "",
      group: fields.group.value,
      deduplication: fields.deduplication?.value ?? "",
      attributes: attributes(),
    });
  },
  ({ id, sequence }) => {
    // The rest stays: the next message is often like it.
    fields.body.value = "";
    if (fields.deduplication) fields.deduplication.value = "";
    form.dispatchEvent(new Event("input"));
    say($("sent-note"), `Sent: ${id}${sequence ? `, sequence ${sequence}` : ""}`);
    size();
    fields.body.focus();
    lookSoon();
  },
);

function size() {
  const used = encoder.encode(fields.body.value).length;
  say($("send-size"), used > 1000 ? `${bytes(used)}. ` : "");
}
fields.body.addEventListener("input", size);
fields.body.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});

// Rows of attributes.

const isUsed = (row) => [...row.querySelectorAll("input")].some((input) => input.value);
for (const row of rows) {
  row.hidden = !isUsed(row);
  row.querySelector(".take").addEventListener("click", () => {
    for (const input of row.querySelectorAll("input")) input.value = "";
    row.hidden = true;
    form.dispatchEvent(new Event("input"));
    offer();
    $("add-attribute").focus();
  });
}
function offer() {
  $("add-attribute").hidden = rows.every((row) => !row.hidden);
}
$("add-attribute").addEventListener("click", () => {
  const row = rows.find((each) => each.hidden);
  // In the order in which they were added.
  $("add-attribute").before(row);
  row.hidden = false;
  row.querySelector("input").focus();
  offer();
});
offer();
readAll(form);
size();
