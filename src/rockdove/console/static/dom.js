// Elements made and kept in step with data, without HTML in strings.

export const $ = (id) => document.getElementById(id);

// make("td", "number", "12", element): children are texts or elements.
export function make(tag, kind = "", ...children) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function button(text, kind, act) {
  const made = make("button", kind, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

export function link(address, text) {
  const made = make("a", "", text);
  made.href = address;
  return made;
}

// One child for each row, in their order; build(row) makes one, fill(element, row) brings it up to date. What somebody
// has opened or is typing into stays.
export function sync(box, rows, key, build, fill) {
  box.known ??= new Map();
  const before = box.known;
  box.known = new Map();
  let next = box.firstElementChild;
  for (const row of rows) {
    const name = key(row);
    const element = before.get(name) ?? build(row);
    before.delete(name);
    box.known.set(name, element);
    fill?.(element, row);
    if (element === next) next = next.nextElementSibling;
    else box.insertBefore(element, next);
  }
  for (const element of before.values()) element.remove();
}

// The text of an element, if it has changed.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Copies the text of the element that a button names.
export function copyable(root = document) {
  root.addEventListener("click", async (event) => {
    const pressed = event.target.closest("button.copy");
    if (!pressed) return;
    const source = $(pressed.dataset.copy);
    const before = pressed.dataset.word ?? pressed.textContent;
    pressed.dataset.word = before;
    pressed.textContent = (await copy(source)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (pressed.textContent = before), 1800);
  });
}

// Over plain HTTP from another machine, a browser has no clipboard for pages: then the text is selected.
async function copy(source) {
  const text = source.value ?? source.textContent;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
}
