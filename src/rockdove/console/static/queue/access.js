// Permissions: statements of the policy, granting, taking back, and the policy itself.

import { isKept } from "../attribute.js";
import { $, button, make, sync } from "../dom.js";
import { dropDraft } from "../draft.js";
import { clear, handle } from "../form.js";
import { notice } from "../page.js";
import { sure } from "../sure.js";
import { get, Part, post } from "./part.js";

const grant = $("grant-form");
const policy = $("policy-form");
let kept = "";

const part = new Part("access", {
  read: () => get("access"),
  draw: ({ policy: text, statements }) => {
    kept = text;
    // What somebody is editing stays.
    if (!policy.dataset.touched) policy.elements.policy.value = text;
    const rows = statements.map((row, place) => ({ ...row, key: `${place} ${JSON.stringify(row)}` }));
    sync($("statements"), rows, (row) => row.key, build);
    $("access-empty").hidden = rows.length > 0;
  },
});

function build(row) {
  const verb = make("b", row.allows ? "good" : "bad", row.allows ? "may" : "may not");
  const line = make("span", "break", row.who.join(", ") || "nobody", " ", verb, ` ${row.actions.map(words).join(", ")}`);
  const take = row.label ? button("Take back…", "small", () => revoke(row.label)) : "";
  const made = make("li", "entry", make("div", "entry-line", line, take));
  if (row.label) made.append(make("span", "soft break", row.label));
  if (row.conditions) made.append(make("p", "soft mono break", `if ${row.conditions}`));
  return made;
}

const words = (action) => (action === "*" ? "do everything that can be granted" : action);

function revoke(label) {
  sure({
    title: `Take back ${label}?`,
    text: "Who had it is refused from then on, at once.",
    button: "Take back",
    act: () => post("access/revoke", { label }),
    done: () => {
      notice(`${label} is taken back.`);
      part.load();
    },
  });
}

handle(
  grant,
  () => {
    const { label, accounts } = grant.elements;
    const actions = [...grant.querySelectorAll("[type=checkbox]:checked")].map((box) => box.value);
    return post("access/grant", { label: label.value, accounts: accounts.value, actions });
  },
  () => {
    grant.reset();
    notice("It is allowed.");
    part.load();
  },
);

handle(
  policy,
  () => post("access/policy", { policy: policy.elements.policy.value }),
  () => {
    notice("The policy is saved.");
    part.load();
  },
);
if (isKept(policy)) policy.dataset.touched = "yes";
$("policy-again").addEventListener("click", () => {
  policy.elements.policy.value = kept;
  delete policy.dataset.touched;
  dropDraft(policy);
  clear(policy);
});
part.load();
