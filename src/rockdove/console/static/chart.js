// Live charts by uPlot, in the colours of the page.

import { colour, onTheme } from "./colour.js";

// Seconds that a chart shows.
const SHOWN = 300;
const charts = new Set();
onTheme(() => charts.forEach((chart) => chart.rebuild()));

export class Chart {
  // box: an element; series: [{label, colour: "--c1", column, fill}]; value: how a number is written.
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
          { ...axis, space: 60 },
          { ...axis, size: 56, values: (_, ticks) => ticks.map(this.value) },
        ],
        series: [
          {},
          ...this.series.map(({ label, colour: name, fill }) => ({
            label,
            stroke: colour(name),
            width: 1.6,
            fill: fill ? `color-mix(in srgb, ${colour(name)} 16%, transparent)` : undefined,
            points: { show: false },
            spanGaps: false,
            value: (_, number) => (number === null || number === undefined ? "–" : this.value(number)),
          })),
        ],
      },
      this.data,
      this.box,
    );
  }

  // All at once: columns by name, "time" among them.
  setHistory(columns) {
    this.data = [columns.time.slice(), ...this.series.map(({ column }) => columns[column].slice())];
    this.plot?.setData(this.data);
  }

  // One more: numbers by name.
  push(point) {
    this.data[0].push(point.time);
    this.series.forEach(({ column }, place) => this.data[place + 1].push(point[column] ?? null));
    while (this.data[0].length > SHOWN) this.data.forEach((column) => column.shift());
    this.plot?.setData(this.data);
  }
}
