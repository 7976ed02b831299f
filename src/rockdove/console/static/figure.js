// Figures of models and reports as people read them.

import { count } from "./words.js";

export { count };

// Of messages a second: 30, 32.5, 1,234.
export const rate = (value) => (value ? digits(value) : "0");

// Three digits: 0.243 s, 12.3 ms, 4.56 min.
export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 s";
  if (value < 1) return `${digits(value * 1000)} ms`;
  if (value < 120) return `${digits(value)} s`;
  return value < 7200 ? `${digits(value / 60)} min` : `${digits(value / 3600)} h`;
}

export const milliseconds = (value) => (value === null || value === undefined ? "–" : seconds(value / 1000));

function digits(value) {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}

// Of one: 97.3 %.
export function share(value) {
  if (value === null || value === undefined) return "–";
  const percent = value * 100;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent >= 10 ? percent.toFixed(1) : Number(percent.toPrecision(2))} %`;
}

// 1,234, 12.3, 0.05: for what may be small.
export function amount(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) < 0.01 && value !== 0 ? String(Number(value.toPrecision(1))) : rate(value);
}
