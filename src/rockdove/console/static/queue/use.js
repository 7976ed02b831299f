// Topics that send to this queue, and programs to copy.

import { $, copyable, make, sync } from "../dom.js";
import { get, Part } from "./part.js";

const part = new Part("topics", {
  read: () => get("topics"),
  draw: ({ subscriptions }) => {
    sync($("topic-rows"), subscriptions, (row) => JSON.stringify(row), build);
    $("topics-empty").hidden = subscriptions.length > 0;
  },
  every: 15000,
});

function build(row) {
  const made = make("li", "entry", make("div", "entry-line", make("b", "break", row.topic), how(row.raw)));
  made.append(make("span", "soft mono break", row.arn));
  if (row.filter) made.append(make("p", "soft break", `only if ${row.filter_scope === "MessageBody" ? "the body" : "attributes"} fit `, make("code", "", row.filter)));
  if (row.dead_letter) made.append(make("p", "soft break", "dead letters: ", make("code", "", row.dead_letter)));
  return made;
}

function how(raw) {
  if (raw === null) return "";
  return make("span", "badge", raw ? "as published" : "in an envelope");
}
part.load();

// Tabs, with arrow keys.
const tabs = [...document.querySelectorAll("#use [role=tab]")];
function choose(tab) {
  for (const each of tabs) {
    const on = each === tab;
    each.setAttribute("aria-selected", String(on));
    each.tabIndex = on ? 0 : -1;
    $(each.getAttribute("aria-controls")).hidden = !on;
  }
}
for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const other = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    choose(other);
    other.focus();
  });
}
copyable();
