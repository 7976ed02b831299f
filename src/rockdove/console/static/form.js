// Forms and dialogs: sends JSON, shows errors beside the input that they are about, keeps what was typed.

import { dropDraft, keepDraft } from "./draft.js";
import { signedOut } from "./page.js";
import { bytes, duration } from "./words.js";

// The status in the body: browsers report other ones as errors of the page.
export const HEADERS = { "Content-Type": "application/json", "Rockdove-Status": "body" };

// POST of JSON, or GET without a body. Throws Problem.
export async function call(address, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(address, { ...options, headers: HEADERS });
  } catch {
    throw new Problem({ error: "The console does not answer. Is it still running? Nothing was lost; try again." });
  }
  const told = await answer.json().catch(() => ({ error: `The console answered with status ${answer.status}.` }));
  if (told.signed_out) signedOut();
  if (!told.ok) throw new Problem(told);
  return told;
}

export class Problem extends Error {
  constructor({ error, field }) {
    super(error);
    this.field = field;
  }
}

// Takes a form over. send(): does it, and may throw Problem; done(what send gave): afterwards.
export function handle(form, send, done) {
  if (form.dataset.draft !== undefined) keepDraft(form);
  for (const input of form.elements) watch(input);
  form.addEventListener("input", (event) => {
    form.dataset.touched = "yes";
    unmark(event.target);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.busy) return;
    clear(form);
    if (!check(form)) return;
    form.dataset.busy = "yes";
    const button = form.querySelector("[type=submit]");
    button.setAttribute("aria-busy", "true");
    try {
      const given = await send();
      dropDraft(form);
      delete form.dataset.touched;
      await done?.(given);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      show(form, problem);
    } finally {
      delete form.dataset.busy;
      button.removeAttribute("aria-busy");
    }
  });
}

// Beside the input if the problem is about one, else at the foot of the form.
export function show(form, { message, field }) {
  const input = field && form.elements[field];
  if (input && input.closest) mark(input, message);
  else {
    const foot = form.querySelector("footer .error, .error.whole");
    foot.textContent = message;
    foot.hidden = false;
  }
}

export function mark(input, message) {
  const box = input.closest(".field");
  const details = input.closest("details");
  if (details) details.open = true;
  let text = box.querySelector(".error");
  if (!text) {
    text = document.createElement("p");
    text.className = "error";
    text.id = `${input.id}-error`;
    text.setAttribute("role", "alert");
    box.append(text);
  }
  text.textContent = message;
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", text.id);
  input.focus({ preventScroll: true });
  box.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function unmark(input) {
  if (!input.getAttribute || !input.hasAttribute("aria-invalid")) return;
  input.removeAttribute("aria-invalid");
  input.closest(".field")?.querySelector(".error")?.remove();
}

export function clear(form) {
  for (const input of form.elements) unmark(input);
  for (const text of form.querySelectorAll("footer .error, .error.whole")) text.hidden = true;
}

// Ranges are told before the service is asked.
function check(form) {
  for (const input of form.elements) {
    const text = fault(input);
    if (text) {
      mark(input, text);
      return false;
    }
  }
  return true;
}

function fault(input) {
  if (input.disabled || !("value" in input)) return null;
  const value = input.value.trim();
  if (input.required && !value) return "This is needed.";
  const { low, high, words } = input.dataset;
  if (!value || high === undefined || (words && words.split(" ").includes(value))) return null;
  if (/^\d+$/.test(value) && Number(value) >= Number(low) && Number(value) <= Number(high)) return null;
  const range = `${Number(low).toLocaleString("en-US")} to ${Number(high).toLocaleString("en-US")}`;
  return `Must be a whole number from ${range}${words ? `, or ${words.split(" ").join(" or ")}` : ""}.`;
}

// Seconds and bytes are read out beside the input: 345600 is 4 d.
const READERS = { seconds: duration, bytes, ms: (value) => duration(value / 1000) };

function watch(input) {
  const reader = READERS[input.dataset?.unit];
  if (!reader) return;
  input.addEventListener("input", () => read(input, reader));
  read(input, reader);
}

function read(input, reader) {
  const text = input.closest(".field").querySelector(".reading");
  const value = input.value.trim() || input.placeholder;
  text.hidden = !/^\d+$/.test(value) || Number(value) < 60;
  if (!text.hidden) text.textContent = `= ${reader(Number(value))}. `;
}

// After values were set by a program.
export function readAll(form) {
  for (const input of form.elements) {
    const reader = READERS[input.dataset?.unit];
    if (reader) read(input, reader);
  }
}

// Buttons with the class "close", and a click beside it, close a dialog.
export function closable(dialog) {
  for (const button of dialog.querySelectorAll(".close")) button.addEventListener("click", () => dialog.close());
}
