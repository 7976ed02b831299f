// A secret that is told this once: it stays on the screen until somebody says that it is kept, and is then forgotten.

import { $, copyable, make, say } from "./dom.js";

const dialog = $("once-dialog");
let after = null;

// {title, text, lines: [[word, value]], all: what is copied, done}
export function showOnce({ title, text, lines, all, done }) {
  after = done;
  say($("once-title"), title);
  say($("once-text"), text);
  $("once-lines").replaceChildren(...lines.map(([word, value]) => make("div", "", make("dt", "", word), make("dd", "mono", value))));
  $("once-all").textContent = all;
  dialog.showModal();
  $("once-all").focus();
}

// Escape is pressed too easily.
dialog.addEventListener("cancel", (event) => event.preventDefault());
dialog.addEventListener("keydown", (event) => event.key === "Escape" && event.preventDefault());
$("once-kept").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  $("once-lines").replaceChildren();
  $("once-all").textContent = "";
  after?.();
});
copyable(dialog);
