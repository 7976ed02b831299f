// Tags: shown, set and taken away.

import { $, button, make, sync } from "../dom.js";
import { handle } from "../form.js";
import { notice } from "../page.js";
import { get, Part, post } from "./part.js";

const form = $("tag-form");
const part = new Part("tags", {
  read: () => get("tags"),
  draw: ({ tags }) => {
    sync($("tag-list"), tags, ({ key, value }) => `${key}=${value ?? ""}`, build);
    $("tags-empty").hidden = tags.length > 0;
  },
});

function build({ key, value }) {
  const take = button("✕", "quiet small", async () => {
    try {
      await post("tags/remove", { key });
      form.elements.key.focus();
      part.load();
    } catch (problem) {
      notice(problem.message, "bad");
    }
  });
  take.setAttribute("aria-label", `Take the tag ${key} away`);
  const words = make("span", "break", make("b", "", key), value ? ` = ${value}` : "");
  return make("li", "chip", words, take);
}

handle(
  form,
  () => post("tags", { key: form.elements.key.value, value: form.elements.value.value }),
  () => {
    form.reset();
    form.elements.key.focus();
    part.load();
  },
);
part.load();
