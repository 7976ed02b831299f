// A table of live rows: only cells whose text has changed are touched, and only rows on screen are drawn.

// A row stays where it is while somebody points at the table; else the order is renewed this often.
const REORDER_MS = 2000;

export class LiveTable {
  // table: its rows are made of the template; fill(view, row): sets cells by set(); by: how to sort, {name: row => value}.
  constructor({ table, template, key, fill, draw, by, sort, isShown }) {
    Object.assign(this, { table, template, key, fill, draw, by, isShown });
    this.body = table.tBodies[0];
    this.views = new Map();
    this.order = sort ?? { name: Object.keys(by)[0], down: false };
    this.pointed = false;
    this.dirty = false;
    this.onscreen = new Set();
    this.watcher = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: "200px" });
    table.addEventListener("pointerenter", () => (this.pointed = true));
    table.addEventListener("pointerleave", () => (this.pointed = false));
    for (const head of table.querySelectorAll("[data-sort]")) {
      head.querySelector("button").addEventListener("click", () => this.sortBy(head.dataset.sort));
    }
    setInterval(() => this.dirty && !this.pointed && this.arrange(), REORDER_MS);
    this.#mark();
  }

  replace(rows) {
    const names = new Set(rows.map(this.key));
    for (const name of [...this.views.keys()]) if (!names.has(name)) this.#drop(name);
    this.update(rows);
    this.arrange();
  }

  update(rows) {
    let added = false;
    for (const row of rows) {
      const name = this.key(row);
      let view = this.views.get(name);
      if (!view) {
        view = this.#make(name);
        added = true;
      }
      view.row = row;
      this.fill(view, row);
      if (this.onscreen.has(view)) this.draw?.(view);
    }
    if (added) this.arrange();
    else this.dirty = this.dirty || rows.length > 0;
  }

  remove(names) {
    for (const name of names) this.#drop(name);
  }

  get rows() {
    return [...this.views.values()].map((view) => view.row);
  }

  #make(name) {
    const element = this.template.content.firstElementChild.cloneNode(true);
    const view = { name, element, cells: [...element.cells], texts: [], row: null };
    element.view = view;
    this.views.set(name, view);
    this.watcher.observe(element);
    return view;
  }

  #drop(name) {
    const view = this.views.get(name);
    if (!view) return;
    this.watcher.unobserve(view.element);
    this.onscreen.delete(view);
    view.element.remove();
    this.views.delete(name);
  }

  #seen(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.onscreen.add(target.view);
      else this.onscreen.delete(target.view);
      if (isIntersecting) this.draw?.(target.view);
    }
  }

  drawAll() {
    for (const view of this.onscreen) this.draw?.(view);
  }

  sortBy(name) {
    this.order = { name, down: this.order.name === name ? !this.order.down : name !== "name" };
    this.#mark();
    this.arrange();
  }

  #mark() {
    for (const head of this.table.querySelectorAll("[data-sort]")) {
      if (head.dataset.sort !== this.order.name) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.order.down ? "descending" : "ascending");
    }
  }

  // Sorts and filters; moves only rows that are out of place.
  arrange() {
    this.dirty = false;
    const value = this.by[this.order.name];
    const sign = this.order.down ? -1 : 1;
    const views = [...this.views.values()];
    for (const view of views) view.by = value(view.row);
    views.sort((a, b) => sign * compare(a.by, b.by) || compare(a.name, b.name));
    let shown = 0;
    let next = this.body.firstElementChild;
    for (const view of views) {
      const hide = this.isShown ? !this.isShown(view.row) : false;
      if (view.element.hidden !== hide) view.element.hidden = hide;
      if (!hide) shown += 1;
      if (view.element === next) next = next.nextElementSibling;
      else this.body.insertBefore(view.element, next);
    }
    this.onArranged?.(shown, views.length);
  }
}

// What is missing comes last.
function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "string" ? COLLATOR.compare(a, b) : a - b;
}
const COLLATOR = new Intl.Collator("en", { numeric: true });

// The text of a cell, if it has changed.
export function set(view, place, text) {
  if (view.texts[place] === text) return;
  view.texts[place] = text;
  view.cells[place].textContent = text;
  view.cells[place].classList.toggle("zero", text === "0");
}
