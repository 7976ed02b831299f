// The form of a queue's attributes: those of the other kind of queue are not shown; only what has changed is sent.

import { $, make } from "./dom.js";
import { dropDraft } from "./draft.js";
import { call, clear, closable, handle, Problem, readAll } from "./form.js";

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

// The dialog for editing. What was typed and not saved is there again when it is opened once more, unless by "Cancel".
export function editor(name, done) {
  const dialog = $("edit-dialog");
  const form = $("edit-form");
  const address = `/api/queues/${encodeURIComponent(name)}/attributes`;
  let before = null;

  async function open() {
    const told = (await call(address)).attributes;
    fit(form, told.FifoQueue === "true");
    if (!form.dataset.touched) {
      form.reset();
      for (const input of form.querySelectorAll(".group [name]")) input.value = told[input.name] ?? "";
    }
    before = told;
    clear(form);
    offerQueues("edit-queues", told.FifoQueue === "true");
    dialog.showModal();
    readAll(form);
  }

  handle(
    form,
    () => {
      const changes = Object.entries(values(form)).filter(([name, value]) => value.trim() !== (before[name] ?? ""));
      if (!changes.length) throw new Problem({ error: "Nothing has changed." });
      return call(address, { attributes: Object.fromEntries(changes) });
    },
    () => {
      dialog.close();
      done();
    },
  );
  closable(dialog);
  if (isKept(form)) form.dataset.touched = "yes";
  dialog.querySelector("footer .close").addEventListener("click", () => {
    delete form.dataset.touched;
    dropDraft(form);
  });
  return { open };
}
