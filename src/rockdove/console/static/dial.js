// A slider with an input beside it: what is typed counts, and may be beyond the slider, which then grows.

export class Dial {
  constructor(box, changed) {
    this.name = box.dataset.field;
    this.range = box.querySelector("[type=range]");
    this.input = box.querySelector(".typed input");
    this.high = Number(this.input.dataset.high);
    this.range.addEventListener("input", () => {
      this.input.value = this.range.value;
      this.#say();
      changed();
    });
    this.input.addEventListener("input", () => {
      if (!this.fault) this.#follow();
      changed();
    });
    this.#say();
  }

  get value() {
    return Number(this.input.value);
  }

  // Why it is none, if so.
  get fault() {
    const text = this.input.value.trim();
    if (text === "" || Number.isNaN(Number(text))) return "Must be a number.";
    if (this.name === "threads" && !(Number.isInteger(this.value) && this.value >= 1)) return "Must be a whole number of 1 or more.";
    if (this.value < 0 || this.value > this.high) return `Must be at most ${this.high.toLocaleString("en-US")}, and not under 0.`;
    return null;
  }

  set(value) {
    this.input.value = value;
    this.#follow();
  }

  #follow() {
    const most = Number(this.range.max);
    if (this.value > most) this.range.max = Math.min(grown(this.value), this.high);
    if (this.value < Number(this.range.min)) this.range.min = 0;
    this.range.value = this.value;
    this.#say();
  }

  #say() {
    this.range.setAttribute("aria-valuetext", `${this.input.value} ${this.range.dataset.unitWords}`);
  }
}

// The next of 1, 2, 5, 10, 20, ... with some room beyond.
function grown(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [2, 5, 10, 20].map((step) => step * power).find((end) => end >= value * 1.2);
}
