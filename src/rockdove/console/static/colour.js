// Colours of the style sheet, for what is drawn by hand; they change with light and dark.

let known = new Map();

export function colour(name) {
  if (!known.has(name)) known.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return known.get(name);
}

const dark = matchMedia("(prefers-color-scheme: dark)");

// Calls back when everything is to be drawn anew.
export function onTheme(draw) {
  dark.addEventListener("change", () => {
    known = new Map();
    draw();
  });
}
