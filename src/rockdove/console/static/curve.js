// Charts whose horizontal axis is no time: lines over numbers, with the place marked where one is.

import { colour, onTheme } from "./colour.js";
import { missing } from "./plot.js";

const curves = new Set();
onTheme(() => curves.forEach((curve) => curve.rebuild()));

export class Curve {
  // x, y: how numbers on the axes are written; label: of the horizontal axis.
  constructor(box, { title, label, x, y, height = 230 }) {
    Object.assign(this, { box, title, label, x, y, height });
    this.data = [[], []];
    this.place = null;
    this.plot = null;
    if (missing(box)) return;
    curves.add(this);
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
        scales: {
          x: { time: false, range: (_, low, high) => [low, Math.max(high, this.place?.x ?? high)] },
          y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] },
        },
        axes: [
          { ...axis, label: this.label, labelSize: 20, labelFont: "11px system-ui", values: (_, ticks) => ticks.map(this.x) },
          { ...axis, size: 58, values: (_, ticks) => ticks.map(this.y) },
        ],
        series: [
          { label: this.label, value: (_, number) => (number == null ? "–" : this.x(number)) },
          {
            label: "mean",
            stroke: colour("--c1"),
            width: 1.8,
            fill: `color-mix(in srgb, ${colour("--c1")} 12%, transparent)`,
            points: { show: false },
            value: (_, number) => (number == null ? "–" : this.y(number)),
          },
        ],
        hooks: { draw: [() => this.#mark()] },
      },
      this.data,
      this.box,
    );
  }

  // place: {x, y, text}; y is null where there is no mean.
  set(x, y, place) {
    this.place = place;
    this.data = [x, y];
    this.plot?.setData(this.data);
  }

  #mark() {
    const { ctx, bbox } = this.plot;
    if (!this.place || !this.data[0].length) return;
    const ratio = devicePixelRatio || 1;
    const x = Math.round(this.plot.valToPos(this.place.x, "x", true));
    const shade = colour(this.place.y === null ? "--bad" : "--c2");
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = shade;
    ctx.lineWidth = ratio;
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (this.place.y !== null) {
      ctx.beginPath();
      ctx.arc(x, this.plot.valToPos(this.place.y, "y", true), 4.5 * ratio, 0, 2 * Math.PI);
      ctx.fill();
    }
    ctx.font = `${11 * ratio}px system-ui`;
    const toTheLeft = x > bbox.left + bbox.width * 0.6;
    ctx.textAlign = toTheLeft ? "right" : "left";
    ctx.fillText(this.place.text, x + (toTheLeft ? -7 : 7) * ratio, bbox.top + 13 * ratio);
    ctx.restore();
  }
}
