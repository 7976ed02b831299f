// A menu that buttons of rows open: placed beside its button, moved through with arrow keys.

const shown = (menu) => [...menu.querySelectorAll("button:not([hidden])")];

// Opens it below the button.
export function openMenu(menu, opener) {
  menu.showPopover({ source: opener });
  const box = opener.getBoundingClientRect();
  menu.style.left = `${Math.max(8, box.right - menu.offsetWidth)}px`;
  menu.style.top = `${Math.min(box.bottom + 4, innerHeight - menu.offsetHeight - 8)}px`;
  menu.opener = opener;
  shown(menu)[0].focus();
}

// deeds: what is done, by the data-do of its buttons.
export function menu(element, deeds) {
  element.addEventListener("keydown", (event) => {
    const items = shown(element);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
  });
  element.addEventListener("toggle", (event) => {
    if (event.newState === "closed" && document.activeElement === document.body) element.opener?.focus();
  });
  element.addEventListener("click", (event) => {
    const what = event.target.dataset.do;
    if (!what) return;
    element.hidePopover();
    deeds[what]();
  });
  // It would stay behind.
  addEventListener("scroll", () => element.matches(":popover-open") && element.hidePopover(), { passive: true });
}
