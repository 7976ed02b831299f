// Accounts: who may use the service, and with what.

import { $, button, make, say, sync } from "./dom.js";
import { call, clear, closable, handle } from "./form.js";
import { menu, openMenu } from "./menu.js";
import { showOnce } from "./once.js";
import { notice, on } from "./page.js";
import { secrets } from "./secret.js";
import { sure } from "./sure.js";
import { count, moment } from "./words.js";

const isFirst = Boolean($("first-note"));
const address = (account, what) => `/api/accounts/${encodeURIComponent(account)}/${what}`;
let subject = null;
let known = new Map();

async function load() {
  try {
    const { accounts } = await call("/api/accounts");
    $("trouble").hidden = true;
    $("waiting").hidden = true;
    known = new Map(accounts.map((row) => [row.name, row]));
    sync($("rows"), accounts, (row) => row.name, build, fill);
    say($("count"), count(accounts.length));
    if (subject && known.has(subject.name)) showTokens(known.get(subject.name));
  } catch (problem) {
    $("trouble").textContent = problem.message;
    $("trouble").hidden = false;
  }
}

const LABELS = ["", "Id", "Access keys", "Tokens", "Password", "Since", ""];

function build(row) {
  const cells = LABELS.map((label) => {
    const cell = make("td");
    if (label) cell.dataset.label = label;
    return cell;
  });
  const dots = button("⋯", "quiet dots", () => act(made.row, dots));
  dots.setAttribute("aria-haspopup", "menu");
  dots.setAttribute("aria-label", `Actions for ${row.name}`);
  cells[6].append(dots);
  const made = make("tr", "", ...cells);
  made.dataset.testid = "account-row";
  return Object.assign(made, { parts: cells });
}

function fill(made, row) {
  const before = JSON.stringify(row);
  if (made.known === before) return;
  made.known = before;
  made.row = row;
  made.classList.toggle("off", !row.enabled);
  const badges = [row.admin && "administrator", row.is_own && "you", !row.enabled && "disabled"].filter(Boolean);
  const [name, id, keys, tokens, password, since] = made.parts;
  name.replaceChildren(make("b", "break", row.name), make("span", "badges", ...badges.map((text) => make("span", "badge", text))));
  id.replaceChildren(make("span", "mono", row.id));
  keys.replaceChildren(...row.keys.map((key, place) => {
    const which = row.keys.length > 1 ? make("span", "badge", place ? "new" : "old") : "";
    return make("div", "key-line", make("span", "mono", key.access_key), " ", which, make("span", "soft", ` ${moment(key.created)}`));
  }));
  say(tokens, row.tokens.length ? count(row.tokens.length) : "none");
  say(password, row.has_password ? "set" : "none");
  say(since, moment(row.created));
}

// The menu of an account.

const actions = $("account-actions");
function act(row, opener) {
  subject = row;
  const has = { finish: row.keys.length > 1, cancel: row.keys.length > 1, rotate: row.keys.length < 2, disable: row.enabled, enable: !row.enabled };
  for (const item of actions.querySelectorAll("button")) item.hidden = has[item.dataset.do] === false;
  openMenu(actions, opener);
}

const DEEDS = {
  password: () => openDialog("password"),
  tokens: (row) => {
    showTokens(row);
    openDialog("tokens");
  },
  rotate: (row) =>
    sure({
      title: `Make a second key for ${row.name}?`,
      text: "Both keys work until you retire the old one: give programs the new one first.",
      button: "Make a key",
      act: () => call(address(row.name, "rotate"), {}),
      done: (key) => showKey(key, `A new key for ${row.name}`, "The old key works, too, until you retire it."),
    }),
  finish: (row) => retire(row, false),
  cancel: (row) => retire(row, true),
  disable: (row) =>
    sure({
      title: `Disable ${row.name}?`,
      text: `Its keys, tokens and password are refused at once, and it is signed out everywhere. Its queues stay.${row.is_own ? " This is your own account: you will be signed out." : ""}`,
      button: "Disable",
      act: () => call(address(row.name, "state"), { enabled: false }),
      done: () => said(`${row.name} is disabled.`),
    }),
  enable: async (row) => {
    try {
      await call(address(row.name, "state"), { enabled: true });
      said(`${row.name} is enabled.`);
    } catch (problem) {
      notice(problem.message, "bad");
    }
  },
  remove: (row) =>
    sure({
      title: `Remove ${row.name}?`,
      text: "Its keys, tokens and password are gone for good. An account that owns queues or topics cannot be removed.",
      button: "Remove",
      name: row.name,
      act: (typed) => call(address(row.name, "remove"), { typed }),
      done: () => said(`${row.name} is removed.`),
    }),
};

menu(actions, Object.fromEntries(Object.entries(DEEDS).map(([what, deed]) => [what, () => deed(subject)])));

function said(text) {
  notice(text);
  load();
}

function retire(row, cancel) {
  const [gone, kept] = cancel ? [row.keys[1], row.keys[0]] : row.keys;
  sure({
    title: `Retire the ${cancel ? "new" : "old"} key of ${row.name}?`,
    text: `${gone.access_key} is refused from then on. ${kept.access_key} goes on working.`,
    button: "Retire it",
    act: () => call(address(row.name, "finish"), { cancel }),
    done: ({ retired }) => said(`${retired} is retired.`),
  });
}

// Dialogs.

function openDialog(what) {
  const dialog = $(`${what}-dialog`);
  for (const box of dialog.querySelectorAll(".subject")) box.textContent = subject?.name ?? "";
  // For password managers.
  for (const box of dialog.querySelectorAll(".owner")) box.value = subject.name;
  clear(dialog.querySelector("form"));
  dialog.showModal();
  dialog.querySelector("form input:not([hidden])").focus();
}

function showKey({ account, id, access_key, secret_key }, title, text, done, password) {
  showOnce({
    title,
    text,
    lines: [["account", account], ["id", id], ...(password ? [["password", password]] : [])],
    all: `export AWS_ACCESS_KEY_ID=${access_key}\nexport AWS_SECRET_ACCESS_KEY=${secret_key}`,
    done: done ?? load,
  });
}

$("add").addEventListener("click", () => openDialog("add"));
const addForm = $("add-form");
// One that was made up is shown once more: nobody knows it yet.
let madeUp = "";
const seen = (input) => (input.type === "text" ? input.value : "");
handle(
  addForm,
  () => {
    const { name, password, admin } = addForm.elements;
    madeUp = seen(password);
    return call("/api/accounts", { name: name.value, password: password.value, admin: admin?.checked ?? false });
  },
  (key) => {
    $("add-dialog").close();
    addForm.reset();
    const text = isFirst ? "From now on requests must be signed with this key, and the console asks for the password." : "Programs sign with this key.";
    showKey(key, `The key of ${key.account}`, text, isFirst ? () => location.assign("/login") : load, madeUp);
    madeUp = "";
  },
);

const passwordForm = $("password-form");
handle(
  passwordForm,
  () => {
    const { password } = passwordForm.elements;
    madeUp = seen(password);
    return call(address(subject.name, "password"), { password: password.value });
  },
  () => {
    $("password-dialog").close();
    if (madeUp) showOnce({ title: `The password of ${subject.name}`, text: "It is for the console.", lines: [], all: madeUp, done: load });
    else said(`${subject.name} has a new password.`);
    madeUp = "";
  },
);

const tokenForm = $("token-form");
function showTokens(row) {
  sync($("token-rows"), row.tokens, (token) => token.id, (token) => {
    const words = make("span", "", make("b", "", token.label || "without a label"), make("span", "soft", ` ${token.id}, since ${moment(token.created)}`));
    const take = button("Remove", "small", async () => {
      try {
        await call(address(row.name, "tokens/remove"), { id: token.id });
        said("The token is removed: who has it is refused from now on.");
      } catch (problem) {
        notice(problem.message, "bad");
      }
    });
    take.setAttribute("aria-label", `Remove the token ${token.label || token.id}`);
    return make("li", "", words, take);
  });
}
handle(
  tokenForm,
  () => call(address(subject.name, "tokens"), { label: tokenForm.elements.label.value }),
  ({ account, id, token }) => {
    tokenForm.reset();
    showOnce({ title: `A token of ${account}`, text: "", lines: [["account", account], ["token id", id]], all: token, done: load });
  },
);

for (const what of ["add", "password", "tokens"]) closable($(`${what}-dialog`));
secrets();
on("service", ({ up }) => up && load());
if (!isFirst) load();
// Others change accounts, too.
setInterval(() => {
  if (!isFirst && document.visibilityState === "visible" && !document.querySelector("dialog[open]")) load();
}, 10_000);
