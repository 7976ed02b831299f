// Writes times of the page in the reader's own zone.

import { moment } from "./words.js";

for (const time of document.querySelectorAll("time[data-moment]")) {
  const seconds = Number(time.dataset.moment);
  time.textContent = moment(seconds);
  time.dateTime = new Date(seconds * 1000).toISOString();
}
