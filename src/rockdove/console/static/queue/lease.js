// Leases, and who holds them.

import { $, button, make, say, sync } from "../dom.js";
import { notice, on } from "../page.js";
import { sure } from "../sure.js";
import { count, duration, moment } from "../words.js";
import { figures, get, Part, post } from "./part.js";

let shown = 0;
const part = new Part("leases", {
  read: () => get("leases"),
  draw: ({ holders }) => {
    shown = holders.length;
    sync($("lease-rows"), holders, (row) => row.consumer, build, fill);
    $("leases-empty").hidden = shown > 0;
  },
  every: 3000,
  isWanted: () => shown > 0 || Boolean(figures.row?.leased),
});

const some = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

function build(row) {
  const words = make("span", "");
  const list = make("ul", "plain indent");
  const more = make("details", "", make("summary", "soft", "Which"), list);
  const take = button("Take back…", "small", () => release(made.row));
  const made = make("li", "entry", make("div", "entry-line", make("b", "break", row.consumer), take), words, more);
  return Object.assign(made, { words, list });
}

function fill(made, row) {
  made.row = row;
  const silent = duration(Math.max(0, Math.floor(Date.now() / 1000 - row.last_call)));
  say(made.words, `${some(row.messages, "message")} in ${some(row.leases, "lease")}, last heard of ${silent} ago`);
  sync(made.list, row.held, (lease) => `${lease.shard} ${lease.sequence}`, () => make("li", "soft"), (line, lease) =>
    say(line, `shard ${lease.shard}, sequence ${lease.sequence}: ${some(lease.messages, "message")} since ${moment(lease.since)}`),
  );
}

function release(row) {
  sure({
    title: `Take back what ${row.consumer} holds?`,
    text: `${some(row.messages, "message")} will be visible to all consumers at once. If ${row.consumer} is still at work on them, they are done twice. It is told so when it comes back.`,
    button: "Take back",
    option: "also forget the consumer: it may begin with sequence 0 again",
    act: (_, forget) => post("leases/release", { consumer: row.consumer, forget }),
    done: ({ messages }) => {
      notice(`${some(messages, "message")} of ${row.consumer} are back in the queue.`);
      part.load();
    },
  });
}

let before = null;
on("queue", () => {
  const { leased } = figures.row;
  if (before !== null && leased !== before) part.load();
  before = leased;
});
part.load();
