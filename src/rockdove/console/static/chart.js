// Live charts by uPlot, in the colours of the page.

import { colour, onTheme } from "./colour.js";

// Seconds that a chart shows.
const SHOWN = 300;
const charts = new Set();
onTheme(() => charts.forEach((chart) => chart.rebuild()));

const TIME = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const clock = (seconds) => TIME.format(seconds * 1000);

// The places of values that have none before and after them: no line shows them.
function lonely(plot, place) {
  const values = plot.data[place];
  const found = [];
  for (let at = 0; at < values.length; at += 1) {
    if (values[at] !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null) found.push(at);
  }
  return found;
}

export class Chart {
  // box: an element; series: [{label, colour: "--c1", column, fill, dots}]; value: how a number is written. With dots, a
  // value without neighbours is seen, too.
  constructor(box, { title, series, value = String, height = 170 }) {
    Object.assign(this, { box, title, series, value, height });
    this.data = [[], ...series.map(() => [])];
    this.plot = null;
    if (typeof uPlot === "undefined") {
      const text = document.createElement("p");
      text.className = "soft";
      text.textContent = "Charts need uPlot, which is not there. In a checkout, scripts/console.sh fetches it.";
      box.append(text);
      return;
    }
    charts.add(this);
    this.rebuild();
    new ResizeObserver(() => this.plot?.setSize(this.#size())).observe(box);
  }

  #size() {
    return { width: Math.max(this.box.clientWidth, 200), height: this.height };
  }

  rebuild() {
    this.plot?.destroy();
    const grid = { stroke: colour("--rule"), width: 1 };
    const axis = { stroke: colour("--soft"), grid, ticks: { ...grid, size: 4 }, font: "11px system-ui" };
    this.plot = new uPlot(
      {
        ...this.#size(),
        title: this.title,
        cursor: { points: { size: 6 }, drag: { x: false, y: false } },
        legend: { live: true },
        scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
        axes: [
          { ...axis, space: 64, values: (_, ticks) => ticks.map(clock) },
          { ...axis, size: 56, values: (_, ticks) => ticks.map(this.value) },
        ],
        series: [
          { label: "at", value: (_, time) => (time ? clock(time) : "–") },
          ...this.series.map(({ label, colour: name, fill, dots }) => ({
            label,
            stroke: colour(name),
            width: 1.6,
            fill: fill ? `color-mix(in srgb, ${colour(name)} 16%, transparent)` : undefined,
            points: { show: false, size: 4, fill: colour(name), filter: dots ? lonely : () => null },
            spanGaps: false,
            value: (_, number) => (number === null || number === undefined ? "–" : this.value(number)),
          })),
        ],
      },
      this.data,
      this.box,
    );
    this.#read();
  }

  // The legend tells the newest values, unless somebody points at others.
  #read() {
    if (this.plot && this.data[0].length && this.plot.cursor.left < 0) this.plot.setLegend({ idx: this.data[0].length - 1 });
  }

  // All at once: columns by name, "time" among them.
  setHistory(columns) {
    this.data = [columns.time.slice(), ...this.series.map(({ column }) => columns[column].slice())];
    this.plot?.setData(this.data);
    this.#read();
  }

  // One more: numbers by name.
  push(point) {
    this.data[0].push(point.time);
    this.series.forEach(({ column }, place) => this.data[place + 1].push(point[column] ?? null));
    while (this.data[0].length > SHOWN) this.data.forEach((column) => column.shift());
    this.plot?.setData(this.data);
    this.#read();
  }
}
