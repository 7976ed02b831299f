// "Are you sure?": a dialog before what cannot be undone; the name is typed where much is lost.

import { $, say } from "./dom.js";
import { clear, closable, handle, Problem } from "./form.js";

const dialog = $("sure-dialog");
const form = $("sure-form");
let asked = null;

// {title, text, button, name: to be typed, option: words of a box to tick, act(typed, ticked), done(what act gave)}
export function sure(question) {
  asked = question;
  say($("sure-title"), question.title);
  say($("sure-text"), question.text);
  say($("sure-submit"), question.button);
  $("sure-field").hidden = !question.name;
  say($("sure-field").querySelector(".subject"), question.name ?? "");
  $("sure-option").hidden = !question.option;
  say($("sure-option").querySelector("span"), question.option ?? "");
  form.reset();
  clear(form);
  dialog.showModal();
  (question.name ? form.elements.typed : $("sure-submit")).focus();
}

handle(
  form,
  () => {
    const typed = form.elements.typed.value.trim();
    if (asked.name && typed !== asked.name) {
      throw new Problem({ error: `This is not the name. Type ${asked.name} to confirm.`, field: "typed" });
    }
    return asked.act(typed, form.elements.option.checked);
  },
  async (given) => {
    dialog.close();
    await asked.done?.(given);
  },
);
closable(dialog);
