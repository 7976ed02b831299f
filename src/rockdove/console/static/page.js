// What every page has: the live stream, the banner for a lost service, notices, and the way out when a session ends.

import { flushDrafts } from "./draft.js";

const { page, account } = document.body.dataset;
const banner = document.getElementById("banner");
const channel = new BroadcastChannel("rockdove");
const listeners = new Map();
// A hidden tab closes its stream after so long: a browser has six connections for all tabs together.
const HIDDEN_MS = 10_000;

let stream = null;
let hidden = 0;
let leaving = false;

// Calls back with the data of events of this name: rows, history, point, queue, gone, service.
export function on(name, listener) {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}

function tell(name, data) {
  for (const listener of listeners.get(name) ?? []) listener(data);
}

// Opens the stream with what this page wants to hear of, such as {page: "queue", account, name}.
let wanted = { page };
export function subscribe(wish) {
  wanted = wish;
  open();
}

const NAMES = ["rows", "history", "point", "queue", "gone", "service"];

function open() {
  stream?.close();
  stream = new EventSource(`/events?${new URLSearchParams(wanted)}`);
  for (const name of NAMES) stream.addEventListener(name, (event) => tell(name, JSON.parse(event.data)));
  stream.addEventListener("open", () => trouble("console", null));
  stream.addEventListener("ended", () => signedOut());
  stream.addEventListener("error", lost);
}

function lost() {
  trouble("console", "The console does not answer; trying again. What is shown may be old.");
  // Browsers try again by themselves, unless they were answered something else than a stream.
  if (stream.readyState === EventSource.CLOSED) setTimeout(open, 1500);
}

async function session() {
  const answer = await fetch("/api/session", { headers: { "Rockdove-Status": "body" } }).catch(() => null);
  return answer?.json().catch(() => null);
}

// The banner shows what is wrong, until nothing is.
const troubles = new Map();
export function trouble(what, text) {
  if (text) troubles.set(what, text);
  else troubles.delete(what);
  const [first] = troubles.values();
  banner.hidden = !first;
  if (first) document.getElementById("banner-text").textContent = first;
  const health = document.getElementById("health");
  health.dataset.state = first ? "down" : "up";
  health.querySelector(".health-text").textContent = first ? "no service" : "live";
  document.body.classList.toggle("stale", Boolean(first));
}

on("service", ({ up, text }) => {
  trouble("service", up ? null : `${text} The figures below are the last ones known; this goes on by itself.`);
});

export function signedOut() {
  if (leaving) return;
  leaving = true;
  flushDrafts();
  stream?.close();
  channel.postMessage("ended");
  const leave = () => location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  // A secret that is told this once stays until it is put away.
  const secret = document.querySelector("dialog[data-once][open]");
  if (secret) secret.addEventListener("close", leave);
  else leave();
}
channel.addEventListener("message", (event) => {
  // This tab asks for itself: it may be another session's.
  if (event.data === "ended" && account) checkSession();
});

async function checkSession() {
  if ((await session())?.signed_out) signedOut();
}

// A short notice, that goes by itself.
export function notice(text, kind = "good") {
  const box = document.createElement("p");
  box.className = `toast ${kind}`;
  box.textContent = text;
  document.getElementById("toasts").append(box);
  setTimeout(() => box.remove(), 6000);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hidden);
  if (document.visibilityState === "hidden") hidden = setTimeout(() => stream?.close(), HIDDEN_MS);
  else if (stream && stream.readyState === EventSource.CLOSED && !leaving) open();
});
// A page that comes back from the browser's cache may be that of a session that has ended.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
addEventListener("pagehide", () => stream?.close());

// On a phone the bar is wider than the screen.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });

// "/" goes to the search, as in other tools.
document.addEventListener("keydown", (event) => {
  const search = document.getElementById("search");
  const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog");
  if (event.key === "/" && search && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
  }
});

if (page === "away") {
  // The service was away when this page was asked for.
  setInterval(async () => {
    const told = await session();
    if (told && (told.ok || told.signed_out)) location.reload();
  }, 2000);
} else if (page === "other") {
  open();
}
