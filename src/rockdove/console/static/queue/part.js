// Parts of a queue's page: each is read by itself, says itself when that does not work, and tries again.

import { $ } from "../dom.js";
import { call } from "../form.js";
import { on } from "../page.js";

const queue = $("queue");
export const account = document.body.dataset.account;
export const name = queue.dataset.name;
export const isFifo = Boolean(queue.dataset.fifo);
export const API = `/api/queue/${account}/${encodeURIComponent(name)}`;
export const pageOf = (other) => `/queues/${account}/${encodeURIComponent(other)}`;
// Where the newest row of figures is kept: null until it has come.
export const figures = { row: null };

const parts = new Set();

export class Part {
  // id: of its section; read(): gives data; draw(data); every: milliseconds, while it is on screen; isWanted(): whether.
  constructor(id, { read, draw, every = 0, isWanted = () => true }) {
    Object.assign(this, { section: $(id), read, draw, isWanted });
    this.trouble = this.section.querySelector(".trouble");
    this.busy = false;
    this.again = false;
    this.failed = false;
    this.isSeen = true;
    new IntersectionObserver(([entry]) => (this.isSeen = entry.isIntersecting), { rootMargin: "300px" }).observe(this.section);
    if (every) setInterval(() => this.#isDue() && this.load(), every);
    parts.add(this);
  }

  #isDue() {
    return document.visibilityState === "visible" && this.isSeen && !this.busy && this.isWanted();
  }

  async load() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      const data = await this.read();
      this.failed = false;
      this.trouble.hidden = true;
      this.draw(data);
    } catch (problem) {
      this.failed = true;
      this.trouble.textContent = problem.message;
      this.trouble.hidden = false;
    }
    this.busy = false;
    if (this.again) {
      this.again = false;
      await this.load();
    }
  }
}

on("service", ({ up }) => {
  if (up) for (const part of parts) if (part.failed) part.load();
});

export const get = (what) => call(`${API}/${what}`);
export const post = (what, body) => call(`${API}/${what}`, body);
