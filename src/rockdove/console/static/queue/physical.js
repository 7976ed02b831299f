// Physical queues: load, shares, weight and state.

import { $, make, say, sync } from "../dom.js";
import { notice } from "../page.js";
import { count } from "../words.js";
import { get, isFifo, Part, post } from "./part.js";

const STATES = isFifo ? ["up", "down"] : ["up", "draining", "down"];
let most = 1;

const part = new Part("physical", {
  read: () => get("physical"),
  draw: ({ parts }) => {
    most = Math.max(1, ...parts.map(load));
    say($("physical-note"), parts.length === 1 ? "one" : `${count(parts.length)}`);
    sync($("physical-rows"), parts, (row) => row.index, build, fill);
  },
  every: 2000,
});

const load = ({ visible, in_flight, delayed }) => (visible ?? 0) + (in_flight ?? 0) + (delayed ?? 0);

function build(row) {
  const cells = ["number", "number", "number", "number", "c-load", "number", "c-weight", "c-state", "c-save"].map((kind) => make("td", kind));
  const bar = make("div", "meter", make("span", "fill"));
  cells[4].append(bar);
  const weight = Object.assign(make("input", "narrow"), { inputMode: "decimal", autocomplete: "off", disabled: isFifo });
  weight.setAttribute("aria-label", `Weight of physical queue ${row.index}`);
  const state = make("select", "", ...STATES.map((each) => make("option", "", each)));
  state.setAttribute("aria-label", `State of physical queue ${row.index}`);
  const save = make("button", "small main", "Save");
  save.type = "button";
  const trouble = make("p", "error");
  cells[6].append(weight);
  cells[7].append(state);
  cells[8].append(save, trouble);
  const made = make("tr", "", ...cells);
  Object.assign(made, { cellsOf: cells, bar: bar.firstChild, weight, state, save, trouble });
  const touch = () => {
    trouble.hidden = true;
    save.hidden = weight.value === made.before.weight && state.value === made.before.state;
  };
  weight.addEventListener("input", touch);
  state.addEventListener("change", touch);
  weight.addEventListener("keydown", (event) => event.key === "Enter" && !save.hidden && save.click());
  save.addEventListener("click", () => store(made, row.index));
  save.hidden = trouble.hidden = true;
  return made;
}

function fill(made, row) {
  const texts = [row.index, row.reachable ? count(row.visible) : "away", count(row.in_flight), count(row.delayed)];
  texts.forEach((text, place) => say(made.cellsOf[place], String(text)));
  made.bar.style.width = `${(100 * load(row)) / most}%`;
  say(made.cellsOf[5], `${+(100 * row.share).toFixed(row.share < 0.1 ? 1 : 0)} %`);
  const now = { weight: isFifo ? "–" : String(row.weight), state: row.state };
  const isTouched = !made.save.hidden;
  made.before = now;
  if (isTouched) return;
  if (row.state === "leaving" && !made.state.querySelector("[value=leaving]")) {
    made.state.append(Object.assign(make("option", "", "leaving"), { value: "leaving" }));
  }
  made.state.disabled = row.state === "leaving";
  made.weight.disabled = isFifo || row.state === "leaving";
  if (made.weight.value !== now.weight) made.weight.value = now.weight;
  if (made.state.value !== now.state) made.state.value = now.state;
}

async function store(made, index) {
  const { weight, state, before, save, trouble } = made;
  save.setAttribute("aria-busy", "true");
  try {
    await post("physical", {
      index,
      weight: weight.value === before.weight ? "" : weight.value,
      state: state.value === before.state ? "" : state.value,
    });
    save.hidden = true;
    notice(`Physical queue ${index} is changed.`);
    part.load();
  } catch (problem) {
    trouble.textContent = problem.message;
    trouble.hidden = false;
  }
  save.removeAttribute("aria-busy");
}

part.load();
