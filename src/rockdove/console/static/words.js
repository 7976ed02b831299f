// Numbers and times as people read them.

const WHOLE = new Intl.NumberFormat("en-US");
const ONE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const TENTHS = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

// A number of messages; null where the service cannot tell.
export function count(value) {
  return value === null || value === undefined ? "?" : WHOLE.format(value);
}

export function rate(value) {
  if (!value) return "0";
  return value < 100 ? TENTHS.format(value) : WHOLE.format(Math.round(value));
}

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"]];

// Two units at most: 3 h 20 min.
export function duration(seconds) {
  if (seconds < 1) return seconds <= 0 ? "0 s" : `${Math.round(seconds * 1000)} ms`;
  let rest = Math.round(seconds);
  const parts = [];
  for (const [size, unit] of UNITS) {
    if (rest >= size) {
      parts.push(`${Math.floor(rest / size)} ${unit}`);
      rest %= size;
    }
    if (parts.length === 2) return parts.join(" ");
  }
  if (rest || !parts.length) parts.push(`${rest} s`);
  return parts.slice(0, 2).join(" ");
}

const SIZES = [[1048576, "MiB"], [1024, "KiB"]];

export function bytes(value) {
  for (const [size, unit] of SIZES) if (value >= size) return `${ONE.format(value / size)} ${unit}`;
  return `${value} bytes`;
}

// Of a time in seconds since 1970: today's time, or date and time.
export function moment(seconds) {
  const when = new Date(seconds * 1000);
  const time = when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  return when.toDateString() === new Date().toDateString() ? time : `${when.toLocaleDateString()} ${time}`;
}
