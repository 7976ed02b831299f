// A sparkline of what comes in (filled) and goes out (a line), on a canvas.

import { colour } from "./colour.js";

export class Spark {
  // Bars of so many seconds each; the newest is the last.
  constructor(bars, barS) {
    this.barS = barS;
    this.size = 60;
    this.sent = bars ? bars[0].slice() : new Array(this.size).fill(0);
    this.received = bars ? bars[1].slice() : new Array(this.size).fill(0);
    this.newest = null;
  }

  // Messages a second over so many seconds, as of a time.
  add(time, seconds, sent, received) {
    this.shift(time);
    this.sent[this.size - 1] += (sent * seconds) / this.barS;
    this.received[this.size - 1] += (received * seconds) / this.barS;
  }

  shift(time) {
    const now = Math.floor(time / this.barS);
    if (this.newest === null) this.newest = now;
    for (let n = Math.min(now - this.newest, this.size); n > 0; n--) {
      this.sent.shift();
      this.received.shift();
      this.sent.push(0);
      this.received.push(0);
    }
    this.newest = Math.max(now, this.newest);
  }

  get isEmpty() {
    return !this.sent.some(Boolean) && !this.received.some(Boolean);
  }

  // The size is given: to ask the canvas would make the browser lay the page out, once for every row.
  draw(canvas, width, height) {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const top = Math.max(1, ...this.sent, ...this.received);
    const x = (place) => (place / (this.size - 1)) * width;
    const y = (value) => height - 1.5 - (value / top) * (height - 4);
    pen.strokeStyle = colour("--rule");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(0, height - 0.5);
    pen.lineTo(width, height - 0.5);
    pen.stroke();
    if (this.isEmpty) return;
    trace(pen, this.sent, x, y);
    pen.lineTo(width, height);
    pen.lineTo(0, height);
    pen.closePath();
    pen.globalAlpha = 0.18;
    pen.fillStyle = colour("--c1");
    pen.fill();
    pen.globalAlpha = 1;
    line(pen, this.sent, x, y, "--c1");
    if (this.received.some(Boolean)) line(pen, this.received, x, y, "--c2");
  }
}

function trace(pen, values, x, y) {
  pen.beginPath();
  values.forEach((value, place) => (place ? pen.lineTo(x(place), y(value)) : pen.moveTo(x(place), y(value))));
}

function line(pen, values, x, y, name) {
  trace(pen, values, x, y);
  pen.strokeStyle = colour(name);
  pen.lineWidth = 1.3;
  pen.lineJoin = "round";
  pen.stroke();
}
