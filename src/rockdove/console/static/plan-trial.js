// Confirms the plan by simulation: progress comes as a stream of events; to leave, or to cancel, ends it.

import { HEADERS, Problem } from "./form.js";
import { signedOut } from "./page.js";
import { amount, seconds, share } from "./figure.js";

const at = (id) => document.getElementById(id);
const VERDICTS = {
  confirmed: "Confirmed: the simulation agrees with the model.",
  pessimistic: "Confirmed, and it is faster than the model says: fewer workers may do.",
  contradicted: "Not confirmed: messages take longer than the model says. Take a worker more.",
};

// question(): what to simulate.
export function trialOf(question) {
  let running = null;
  let told = false;

  at("simulate").addEventListener("click", start);
  at("cancel").addEventListener("click", () => running?.abort());

  async function start() {
    running = new AbortController();
    told = false;
    open(true);
    say("Starting the simulator. The very first time it is compiled, which takes some seconds.");
    at("trial-table").hidden = true;
    at("progress").removeAttribute("value");
    try {
      await read(question(), running.signal);
      if (!told) throw new Problem({ error: "The simulation has stopped. Is the console still running? Try again." });
    } catch (problem) {
      if (problem.name === "AbortError") say("Cancelled.");
      else say(problem instanceof Problem ? problem.message : "The console does not answer. Is it still running? Try again.", true);
    } finally {
      open(false);
      running = null;
    }
  }

  async function read(asked, signal) {
    const answer = await fetch("/plan/simulation", { method: "POST", headers: HEADERS, body: JSON.stringify(asked), signal });
    // What went wrong is told as JSON.
    if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      const problem = await answer.json();
      if (problem.signed_out) signedOut();
      throw new Problem(problem);
    }
    const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await text.read(); !part.done; part = await text.read()) {
      const events = (rest + part.value).split("\n\n");
      rest = events.pop();
      events.forEach(take);
    }
  }

  function take(event) {
    const found = /^event: (\w+)\ndata: (.*)$/s.exec(event);
    if (!found) return;
    const data = JSON.parse(found[2]);
    if (found[1] === "progress") progress(data);
    if (found[1] === "done") done(data);
    if (found[1] === "failed") throw new Problem(data);
  }

  function progress({ done: runs, of, delivery, messages }) {
    at("progress").max = of;
    at("progress").value = runs;
    const give = delivery.ci95 === null ? "" : ` ± ${seconds(delivery.ci95)}`;
    say(`Run ${runs} of ${of}, ${messages.toLocaleString("en-US")} messages: delivered in ${seconds(delivery.mean)}${give} on average.`);
  }

  function done(data) {
    told = true;
    const doubt = data.poisson ? "" : " The simulation has random arrivals, and is compared with what the model says of those.";
    say(VERDICTS[data.verdict] + doubt, data.verdict === "contradicted");
    const { predicted } = data;
    fill([
      ["Delivery time, mean", seconds(predicted.mean_s), data.delivery, seconds],
      ["Messages waiting, also for a sender", amount(predicted.waiting), data.waiting, amount],
      ["Workers busy", share(predicted.utilisation), data.utilisation, share],
    ]);
  }

  function fill(rows) {
    const body = at("trial-table").tBodies[0];
    body.replaceChildren();
    for (const [name, predicted, { mean, ci95 }, words] of rows) {
      const row = body.insertRow();
      const head = Object.assign(document.createElement("th"), { scope: "row", textContent: name });
      row.append(head);
      row.insertCell().textContent = predicted;
      row.insertCell().textContent = ci95 === null ? words(mean) : `${words(mean)} ± ${words(ci95)}`;
      for (const cell of row.cells) if (cell !== head) cell.className = "number";
    }
    at("trial-table").hidden = false;
  }

  function open(busy) {
    at("trial").hidden = false;
    at("simulate").hidden = busy;
    at("cancel").hidden = !busy;
    at("progress").hidden = !busy;
    // Whoever has pressed a button keeps the focus.
    if (document.activeElement === document.body) at(busy ? "cancel" : "simulate").focus();
  }

  function say(text, bad = false) {
    at("trial-text").textContent = text;
    at("trial-text").className = bad ? "bad" : "";
  }

  addEventListener("pagehide", () => running?.abort());
  return {
    // The plan is another one now.
    old() {
      running?.abort();
      if (told) say(`${at("trial-text").textContent.replace(/ \(Of an earlier plan\.\)$/, "")} (Of an earlier plan.)`);
    },
  };
}
