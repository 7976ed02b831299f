// What the pages do with a queue as a whole: its attributes in a form, of which only what has changed is sent; purging
// and deleting.

import { $, make } from "./dom.js";
import { dropDraft } from "./draft.js";
import { call, clear, closable, handle, Problem, readAll } from "./form.js";
import { sure } from "./sure.js";
import { count } from "./words.js";

export function fit(form, fifo) {
  for (const field of form.querySelectorAll("[data-only]")) {
    const off = field.dataset.only !== (fifo ? "fifo" : "standard");
    field.hidden = off;
    for (const input of field.querySelectorAll("input, select, textarea")) input.disabled = off;
  }
  for (const group of form.querySelectorAll(".group")) {
    group.hidden = [...group.querySelectorAll(".field")].every((field) => field.hidden);
  }
}

export function values(form) {
  const found = {};
  for (const input of form.querySelectorAll(".group [name]")) if (!input.disabled) found[input.name] = input.value;
  return found;
}

export async function offerQueues(list, fifo) {
  const { names } = await call("/api/queue-names").catch(() => ({ names: [] }));
  const fitting = names.filter((name) => fifo === undefined || name.endsWith(".fifo") === fifo);
  $(list).replaceChildren(...fitting.slice(0, 500).map((name) => Object.assign(make("option"), { value: name })));
}

// Whether a form has what was typed into it before the page was loaded anew.
export function isKept(form) {
  return [...form.elements].some((input) => input.name && input.value);
}

// The dialog for editing, as in edit.html. What was typed and not saved is there again when it is opened once more for
// the same queue, unless by "Cancel". saved(name): afterwards.
export function editor(saved) {
  const dialog = $("edit-dialog");
  const form = $("edit-form");
  const address = (name) => `/api/queues/${encodeURIComponent(name)}/attributes`;
  let before = {};

  async function open(name) {
    const told = (await call(address(name))).attributes;
    fit(form, told.FifoQueue === "true");
    if (!form.dataset.touched || form.elements.queue.value !== name) {
      delete form.dataset.touched;
      form.reset();
      for (const input of form.querySelectorAll(".group [name]")) input.value = told[input.name] ?? "";
    }
    form.elements.queue.value = name;
    before = told;
    clear(form);
    for (const subject of dialog.querySelectorAll(".subject")) subject.textContent = name;
    offerQueues("edit-queues", told.FifoQueue === "true");
    dialog.showModal();
    readAll(form);
  }

  handle(
    form,
    () => {
      const changes = Object.entries(values(form)).filter(([name, value]) => value.trim() !== (before[name] ?? ""));
      if (!changes.length) throw new Problem({ error: "Nothing has changed." });
      return call(address(form.elements.queue.value), { attributes: Object.fromEntries(changes) });
    },
    () => {
      dialog.close();
      saved(form.elements.queue.value);
    },
  );
  closable(dialog);
  if (isKept(form)) form.dataset.touched = "yes";
  dialog.querySelector("footer .close").addEventListener("click", () => {
    delete form.dataset.touched;
    dropDraft(form);
  });
  return open;
}

// What a queue holds, by its row of figures.
function holds(row) {
  if (!row) return "";
  const all = (row.visible ?? 0) + (row.in_flight ?? 0) + (row.delayed ?? 0);
  return all ? ` It holds ${count(all)} ${all === 1 ? "message" : "messages"} now.` : " It holds no messages now.";
}

const DEEDS = {
  purge: ["Purge", "All its messages are deleted, those in flight, too. They cannot be got back."],
  delete: ["Delete", "The queue and all its messages are deleted. They cannot be got back."],
};

// Purges or deletes, when the name was typed.
export function ruin(what, name, row, done) {
  const [word, text] = DEEDS[what];
  sure({
    title: `${word} ${name}?`,
    text: text + holds(row),
    button: word,
    name,
    act: (typed) => call(`/api/queues/${encodeURIComponent(name)}/${what}`, { typed }),
    done,
  });
}
