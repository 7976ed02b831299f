// Dead letters: where they go, where they come from, and moving them back.

import { offerQueues } from "../attribute.js";
import { $, button, link, make, say, sync } from "../dom.js";
import { handle } from "../form.js";
import { notice, on } from "../page.js";
import { count, moment } from "../words.js";
import { figures, get, pageOf, Part, post } from "./part.js";

const form = $("redrive-form");
const WORDS = { RUNNING: "moving", COMPLETED: "done", CANCELLING: "stopping", CANCELLED: "stopped", FAILED: "failed" };
let isRunning = false;

const part = new Part("dead-letters", {
  read: () => get("redrive"),
  draw: ({ sources, tasks }) => {
    come(sources);
    isRunning = tasks.some(({ status }) => status === "RUNNING" || status === "CANCELLING");
    sync($("redrive-tasks"), tasks, (task) => `${task.started} ${task.destination}`, build, fill);
  },
  every: 1000,
  isWanted: () => isRunning,
});

function come(sources) {
  form.hidden = !sources.length;
  const box = $("dead-comes");
  const text = sources.join(" ");
  if (box.dataset.text === text) return;
  box.dataset.text = text;
  if (!sources.length) return box.replaceChildren("No queue sends its dead letters here.");
  const links = sources.flatMap((source, place) => [place ? ", " : "", link(pageOf(source), source)]);
  box.replaceChildren("Here come the dead letters of ", ...links, ".");
}

on("queue", () => {
  const { dead_letter: target, max_receives: most } = figures.row;
  const box = $("dead-goes");
  const text = `${target} ${most}`;
  if (box.dataset.text === text) return;
  box.dataset.text = text;
  if (!target) return box.replaceChildren("Messages of this queue are tried until their retention is over: it has no dead-letter queue.");
  const where = target.startsWith("arn:") ? target : link(pageOf(target), target);
  box.replaceChildren("After ", make("b", "", count(most)), " receives, messages of this queue go to ", where, ".");
});

function build() {
  const line = make("p", "");
  const bar = make("progress");
  const cancel = button("Stop", "small", () => stop(made));
  const why = make("p", "error");
  const made = make("li", "entry", make("div", "entry-line", line, cancel), bar, why);
  made.dataset.testid = "redrive-task";
  return Object.assign(made, { line, bar, cancel, why });
}

function fill(made, task) {
  made.task = task;
  const where = task.destination ? `to ${task.destination}` : "to where they came from";
  const of = task.to_move ? `${count(task.moved)} of ${count(task.to_move)}` : count(task.moved);
  const slowly = task.rate ? `, at most ${count(task.rate)}/s` : "";
  say(made.line, `${WORDS[task.status] ?? task.status}: ${of} ${where}${slowly}, begun ${moment(task.started)}`);
  made.bar.max = Math.max(task.to_move ?? 0, task.moved, 1);
  made.bar.value = task.status === "COMPLETED" ? made.bar.max : task.moved;
  made.bar.setAttribute("aria-label", `Moved ${where}`);
  made.cancel.hidden = task.status !== "RUNNING" || !task.handle;
  say(made.why, task.why ?? "");
  made.why.hidden = !task.why;
}

async function stop(made) {
  made.cancel.setAttribute("aria-busy", "true");
  try {
    const { moved } = await post("redrive/cancel", { handle: made.task.handle });
    notice(`Stopped after ${count(moved)} messages; they stay where they were moved to.`);
  } catch (problem) {
    notice(problem.message, "bad");
  }
  made.cancel.removeAttribute("aria-busy");
  part.load();
}

handle(
  form,
  () => post("redrive", Object.fromEntries(new FormData(form))),
  () => part.load(),
);
form.elements.destination.addEventListener("focus", () => offerQueues("redrive-queues"), { once: true });

part.load();
