// The planner: what the sliders say goes to the model, one question at a time, and its answer is shown.

import { Curve } from "./curve.js";
import { call, clear, show } from "./form.js";
import { notice } from "./page.js";
import { openApply } from "./plan-apply.js";
import { trialOf } from "./plan-trial.js";
import { Dial } from "./dial.js";
import { count, rate, seconds, share } from "./figure.js";

const form = document.getElementById("plan-form");
const at = (id) => document.getElementById(id);
// After so long without a move, percentiles are asked for.
const REST_MS = 180;

const dials = Object.fromEntries([...form.querySelectorAll(".slider")].map((box) => [box.dataset.field, new Dial(box, changed)]));
const details = [...form.querySelectorAll("#details input")];
const trial = trialOf(question);
const overThreads = new Curve(at("over-threads"), { title: "Delivery time over workers", label: "workers", x: count, y: seconds });
const overArrivals = new Curve(at("over-arrivals"), { title: "Delivery time over arrivals, with these workers", label: "messages a second", x: rate, y: seconds });

let asking = false;
// What is to be asked: the means, and when nothing moves any more, all.
let wanted = false;
let whole = false;
let rest = 0;
let answered = null;

function question() {
  const asked = Object.fromEntries(Object.values(dials).map((dial) => [dial.name, dial.value]));
  for (const { name, value } of details) {
    const text = value.trim();
    asked[name] = text === "" ? null : Number(text);
  }
  for (const name of Object.keys(asked)) if (asked[name] === null && name !== "senders") delete asked[name];
  return asked;
}

// What cannot be a number is told here; what no system has, by the model.
function firstFault() {
  for (const dial of Object.values(dials)) if (dial.fault) return { message: dial.fault, field: dial.name };
  for (const { name, value } of details) if (!(Number(value) >= 0)) return { message: "Must be a number.", field: name };
  const senders = question().senders;
  if (senders !== null && !(Number.isInteger(senders) && senders >= 1)) {
    return { message: "Must be a whole number of 1 or more, or empty.", field: "senders" };
  }
  return null;
}

function changed() {
  trial.old();
  save();
  wanted = true;
  whole = false;
  clearTimeout(rest);
  rest = setTimeout(() => {
    whole = true;
    ask();
  }, REST_MS);
  ask();
}

// One question at a time: what is dragged meanwhile is asked when the answer is there.
async function ask() {
  if (asking) return;
  asking = true;
  while (wanted || whole) {
    const all = !wanted;
    if (all) whole = false;
    wanted = false;
    const fault = firstFault();
    const focused = document.activeElement;
    clear(form);
    try {
      if (fault) throw fault;
      const asked = question();
      tell(await call("/api/plan", { ...asked, whole: all }), asked);
    } catch (problem) {
      at("figures").classList.add("old");
      show(form, problem);
      // An error takes the focus, which whoever drags or types keeps.
      if (focused instanceof HTMLElement && focused !== document.body) focused.focus();
    }
  }
  asking = false;
}

// Answers with percentiles come after those without; until then the old ones are shown, paler.
function tell(found, asked) {
  const figures = at("figures");
  figures.classList.toggle("old", !found.stable);
  at("unstable").hidden = found.stable;
  at("parts").hidden = !found.stable;
  if (found.stable) {
    at("mean").textContent = seconds(found.mean_s);
    at("waiting").textContent = rate(found.waiting);
    at("utilisation").textContent = share(found.utilisation);
    at("utilisation-meter").value = found.utilisation;
    tellParts(found);
    answered = { ...answered, ...found, asked };
  } else {
    tellUnstable(found);
    for (const name of ["mean", "p50", "p95", "p99", "waiting"]) at(name).textContent = name === "waiting" ? "∞" : "–";
    at("utilisation").textContent = "100 %";
    at("utilisation-meter").value = 1;
    answered = null;
  }
  const isWhole = found.p99_s !== undefined;
  for (const name of ["p50", "p95", "p99"]) {
    if (isWhole) at(name).textContent = seconds(found[`${name}_s`]);
    at(name).classList.toggle("waits", found.stable && !isWhole);
  }
  if (isWhole) tellAdvice(found, asked);
  else if (!found.stable) at("advice").textContent = "";
  draw(found, asked);
  at("command").textContent = command(asked);
}

function tellUnstable({ text, about, fix, least }) {
  at("unstable-text").textContent = `${text} At least ${count(least)} ${about === "senders" ? "senders" : "workers"} are needed.`;
  const button = at("unstable-fix");
  button.textContent = `Use ${count(fix)}`;
  button.onclick = () => {
    if (about === "senders") at("senders").value = fix;
    else dials.threads.set(fix);
    changed();
    (about === "senders" ? at("senders") : dials.threads.range).focus();
  };
}

function tellParts({ parts, mean_s: mean }) {
  const kept = parts.filter((part) => part.seconds > mean / 1000);
  at("parts-bar").replaceChildren(...kept.map((part) => piece("span", part, mean)));
  at("parts-list").replaceChildren(...kept.map((part) => piece("li", part, mean)));
}

function piece(kind, { name, words, seconds: time }, mean) {
  const made = document.createElement(kind);
  made.className = `part-${name}`;
  if (kind === "span") made.style.flexGrow = time / mean;
  else {
    const bold = document.createElement("b");
    bold.textContent = seconds(time);
    made.append(bold, ` ${words}`);
  }
  return made;
}

function tellAdvice(found, asked) {
  const words = [];
  const lost = found.parts.find((part) => part.name === "again");
  if (lost.seconds > found.mean_s / 2) {
    words.push("Most of the time goes by until lost messages come again: a shorter visibility timeout helps more than workers do.");
  }
  if (found.knee_arrival < asked.arrival) {
    words.push(`These workers do best at ${rate(found.knee_arrival)} messages a second: beyond, a little more costs much time.`);
  } else {
    words.push(`Up to ${rate(found.knee_arrival)} messages a second these workers do well; beyond, a little more costs much time.`);
  }
  words.push(found.senders === 1 ? "1 sender is enough." : `With ${count(found.senders)} senders.`);
  at("advice").textContent = words.join(" ");
}

function draw(found, asked) {
  const mean = found.stable ? found.mean_s : null;
  if (!found.over_threads) {
    overThreads.set([], [], null);
    overArrivals.set([], [], null);
    return;
  }
  overThreads.set(found.over_threads.x, found.over_threads.y, { x: asked.threads, y: mean, text: `${count(asked.threads)} workers` });
  const over = asked.arrival > found.over_arrivals.most;
  const place = { x: over ? found.over_arrivals.most : asked.arrival, y: mean, text: over ? "more than they can do" : `${rate(asked.arrival)}/s` };
  overArrivals.set(found.over_arrivals.x, found.over_arrivals.y, place);
}

function command(asked) {
  const parts = ["rockdove plan", `--arrival ${asked.arrival}`, `--service-rate ${short(1000 / (asked.send_ms ?? 5))}`];
  parts.push(`--broker-rate ${short(1000 / asked.service_ms)}`, `--reliability ${short(asked.reliability / 100)}`);
  parts.push(`--timeout-s ${asked.timeout_s}`, `--link-s ${short((asked.link_ms ?? 0) / 1000)}`);
  const [figure, target] = [at("figure").value, at("target_s").value];
  return `${parts.join(" ")} --target-${figure}-s ${target}`;
}

const short = (number) => String(Number(number.toPrecision(6)));

// The fewest workers for a target.
const find = at("find-form");
find.addEventListener("submit", async (event) => {
  event.preventDefault();
  clear(find);
  const button = find.querySelector("button");
  button.setAttribute("aria-busy", "true");
  try {
    const target = Number(at("target_s").value);
    if (!(target > 0)) throw { message: "Must be a number over 0.", field: "target_s" };
    const found = await call("/api/plan/fewest", { question: question(), figure: at("figure").value, target_s: target });
    dials.threads.set(found.threads);
    if (found.senders) at("senders").value = found.senders;
    notice(found.threads === 1 ? "1 worker is enough." : `${count(found.threads)} workers are enough.`);
    changed();
  } catch (problem) {
    show(find, problem);
  } finally {
    button.removeAttribute("aria-busy");
  }
});

// A calibration.
at("calibration").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  if (!file) return;
  try {
    if (file.size > 1_000_000) throw new Error("This file is too large for a calibration. Choose the calibration.json that rockdove calibrate has written.");
    const found = await call("/api/plan/calibration", { name: file.name, content: await file.text() });
    for (const [name, value] of Object.entries(found)) {
      if (dials[name]) dials[name].set(Number(value.toPrecision(4)));
      else if (at(name)?.form === form) at(name).value = short(Number(value.toPrecision(4)));
    }
    at("senders").value = "";
    at("notes").hidden = false;
    at("notes-words").textContent = `${file.name}: ${found.words}`;
    at("notes-list").replaceChildren(...found.notes.map((note) => Object.assign(document.createElement("li"), { textContent: note })));
    changed();
  } catch (problem) {
    notice(problem.message, "bad");
  }
});
at("notes-close").addEventListener("click", () => (at("notes").hidden = true));

// What is set is in the address, so that it can be kept, and sent to somebody.
function save() {
  const asked = Object.entries(question()).filter(([, value]) => value !== null);
  history.replaceState(null, "", `?${new URLSearchParams(asked)}`);
}

function restore() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (dials[name] && Number(value) > 0) dials[name].set(Number(value));
    else if (details.some((input) => input.name === name)) at(name).value = value;
  }
}

for (const input of details) input.addEventListener("input", changed);
for (const name of ["figure", "target_s"]) at(name).addEventListener("input", () => (at("command").textContent = command(question())));
form.addEventListener("submit", (event) => event.preventDefault());
at("apply").addEventListener("click", () => {
  if (answered?.max_load === undefined) notice("Take enough workers first: this plan is not stable.", "bad");
  else openApply(answered);
});
restore();
changed();
