// Receiving by hand: what is held, for how long still, and what to do with it.

import { $, button, make, say, sync } from "../dom.js";
import { handle, Problem } from "../form.js";
import { notice } from "../page.js";
import { duration } from "../words.js";
import { details, firstLine } from "./message.js";
import { post } from "./part.js";
import { lookSoon } from "./peek.js";

const form = $("receive-form");
const tools = $("extend-form");
const all = $("held-all");
// By receipt: {message, until, chosen, trouble}.
const held = new Map();

handle(
  form,
  () => {
    say($("receive-note"), Number(form.elements.wait.value) ? "Waiting for a message…" : "");
    return post("receive", Object.fromEntries(new FormData(form)));
  },
  ({ messages, until }) => {
    for (const message of messages) {
      // Received once more, its earlier receipt holds nothing.
      for (const [receipt, other] of held) if (other.message.id === message.id) held.delete(receipt);
      held.set(message.receipt, { message, until, chosen: true, trouble: "" });
    }
    say($("receive-note"), messages.length ? "" : "There was no message to receive.");
    draw();
    lookSoon();
  },
);
form.addEventListener("input", () => say($("receive-note"), ""));

function draw() {
  sync($("held-list"), [...held.entries()], ([receipt]) => receipt, build, fill);
  const chosen = picked();
  say($("held-count"), `${chosen.length} of ${held.size} chosen`);
  all.checked = chosen.length === held.size;
  all.indeterminate = chosen.length > 0 && chosen.length < held.size;
  $("held").hidden = held.size === 0;
}

const picked = () => [...held.keys()].filter((receipt) => held.get(receipt).chosen);

function build([receipt, { message }]) {
  const box = Object.assign(make("input"), { type: "checkbox" });
  box.setAttribute("aria-label", `Choose message ${message.id}`);
  box.addEventListener("change", () => {
    held.get(receipt).chosen = box.checked;
    draw();
  });
  const open = make("button", "opener", firstLine(message));
  open.type = "button";
  open.setAttribute("aria-expanded", "false");
  const left = make("span", "left number");
  const drop = button("✕", "quiet small", () => {
    held.delete(receipt);
    draw();
  });
  drop.setAttribute("aria-label", `Take message ${message.id} off this list`);
  const trouble = make("p", "error");
  const made = make("li", "", make("div", "held-line", box, open, left, drop), trouble);
  made.dataset.testid = "held-row";
  open.addEventListener("click", () => {
    const shown = made.querySelector(".details");
    shown?.remove();
    if (!shown) made.append(details(message));
    open.setAttribute("aria-expanded", String(!shown));
  });
  Object.assign(made, { box, left, drop, trouble });
  return made;
}

function fill(element, [, { until, chosen, trouble }]) {
  element.box.checked = chosen;
  const seconds = until - Date.now() / 1000;
  const isOver = seconds <= 0;
  say(element.left, isOver ? "time is up" : duration(Math.ceil(seconds)));
  element.left.classList.toggle("bad", isOver);
  say(element.trouble, trouble);
  element.trouble.hidden = !trouble;
  // What is still held is not forgotten by a slip.
  element.drop.hidden = !trouble && !isOver;
}
setInterval(() => held.size && draw(), 1000);

all.addEventListener("change", () => {
  for (const each of held.values()) each.chosen = all.checked;
  draw();
});

// What did not work stays in the list, and says why.
function settle(receipts, failed, done) {
  for (const receipt of receipts) {
    const each = held.get(receipt);
    if (each) each.trouble = failed[receipt] ?? "";
    if (!failed[receipt]) done(receipt, each);
  }
  draw();
  lookSoon();
}

async function change(what, body, done, words) {
  const receipts = picked();
  if (!receipts.length) throw new Problem({ error: "Choose at least one message." });
  const { failed, until } = await post(what, { receipts, ...body });
  settle(receipts, failed, (receipt, each) => done(receipt, each, until));
  const worked = receipts.length - Object.keys(failed).length;
  if (worked) notice(`${worked === 1 ? "1 message" : `${worked} messages`} ${words}.`);
}

function press(id, act) {
  $(id).addEventListener("click", async () => {
    try {
      await act();
    } catch (problem) {
      notice(problem.message, "bad");
    }
  });
}
press("held-delete", () => change("delete-messages", {}, (receipt) => held.delete(receipt), "deleted"));
press("held-back", () => change("extend", { seconds: "0" }, (receipt) => held.delete(receipt), "put back"));
handle(tools, () =>
  change("extend", { seconds: tools.elements.seconds.value }, (_, each, until) => (each.until = until), "extended"),
);
