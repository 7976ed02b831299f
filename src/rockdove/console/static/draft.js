// What is typed into forms with data-draft survives a reload, a lost service and signing in again; in this tab alone.

function key(form) {
  return `draft ${document.body.dataset.account} ${location.pathname} ${form.id}`;
}

function inputs(form) {
  return [...form.elements].filter((input) => input.name && input.type !== "password" && input.type !== "hidden");
}

const watched = new Set();

export function keepDraft(form) {
  watched.add(form);
  form.addEventListener("input", () => save(form));
  const text = sessionStorage.getItem(key(form));
  if (!text) return false;
  const values = JSON.parse(text);
  for (const input of inputs(form)) {
    if (input.type === "checkbox" || input.type === "radio") {
      if (input.name in values) input.checked = values[input.name] === input.value;
    } else if (input.name in values) input.value = values[input.name];
  }
  return true;
}

function save(form) {
  const values = {};
  for (const input of inputs(form)) {
    if (input.type === "checkbox" || input.type === "radio") {
      if (input.checked) values[input.name] = input.value;
      else if (input.type === "checkbox") values[input.name] = null;
    } else if (input.value) values[input.name] = input.value;
  }
  try {
    sessionStorage.setItem(key(form), JSON.stringify(values));
  } catch {
    // There is no room for it: then it lives as long as the page.
  }
}

export function dropDraft(form) {
  sessionStorage.removeItem(key(form));
}

export function flushDrafts() {
  for (const form of watched) if (form.dataset.touched) save(form);
}
