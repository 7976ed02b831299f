// How a message is written on the page: a row that opens.

import { button, make } from "../dom.js";
import { notice } from "../page.js";
import { bytes, moment } from "../words.js";
import { get } from "./part.js";

// Names of SQS's attributes, in words.
const WORDS = {
  ApproximateReceiveCount: "receives",
  ApproximateFirstReceiveTimestamp: "first received",
  SentTimestamp: "sent",
  SenderId: "sender",
  MessageGroupId: "group",
  MessageDeduplicationId: "deduplication id",
  SequenceNumber: "sequence",
  AWSTraceHeader: "trace header",
  DeadLetterQueueSourceArn: "came from",
};

export function firstLine(message) {
  const text = message.body.trimStart().split("\n", 1)[0].slice(0, 300);
  return text || "(blank)";
}

// All that is known of it; without what its line tells, which changes.
export function details(message, told = []) {
  const facts = make("dl", "pairs");
  add(facts, "id", message.id);
  for (const [name, value] of Object.entries(message.attributes)) {
    if (told.includes(name)) continue;
    add(facts, WORDS[name] ?? name, name.endsWith("Timestamp") ? moment(value / 1000) : value);
  }
  if (message.physical !== undefined) add(facts, "physical queue", String(message.physical));
  add(facts, "size", bytes(message.size));
  add(facts, "MD5", message.md5);
  const made = make("div", "details", body(message), facts);
  if (message.message_attributes.length) {
    const own = make("dl", "pairs own");
    for (const { name, type, value } of message.message_attributes) add(own, name, value, type);
    made.append(make("h3", "", "Attributes"), own);
  }
  return made;
}

function add(list, word, value, type) {
  const kind = type && type !== "String" ? make("span", "badge", type) : "";
  list.append(make("div", "", make("dt", "", word, " ", kind), make("dd", "break mono", value)));
}

function body(message) {
  const text = make("pre", "body", message.body);
  text.tabIndex = 0;
  const tools = make("div", "body-tools");
  const box = make("div", "", tools, text);
  offerJson(tools, text);
  tools.append(button("Copy", "small quiet", async ({ target }) => {
    try {
      await navigator.clipboard.writeText(text.dataset.raw ?? text.textContent);
      target.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      target.textContent = "Press Ctrl+C";
    }
  }));
  if (message.is_cut) {
    const whole = button(`Show all ${bytes(message.size)}`, "small", async () => {
      try {
        const asked = new URLSearchParams({ id: message.id, sent: message.sent, physical: message.physical });
        text.textContent = (await get(`message?${asked}`)).body;
        whole.remove();
        offerJson(tools, text);
      } catch (problem) {
        notice(problem.message, "bad");
      }
    });
    tools.prepend(whole);
  }
  return box;
}

// JSON is easier to read in lines.
function offerJson(tools, text) {
  const raw = text.textContent;
  if (!/^\s*[[{]/.test(raw) || raw.length > 200_000) return;
  let pretty;
  try {
    pretty = JSON.stringify(JSON.parse(raw), null, 2);
  } catch {
    return;
  }
  text.dataset.raw = raw;
  text.textContent = pretty;
  const toggle = button("As sent", "small quiet", () => {
    const isRaw = text.textContent === raw;
    text.textContent = isRaw ? pretty : raw;
    toggle.textContent = isRaw ? "As sent" : "In lines";
  });
  tools.append(toggle);
}
