// Gives the plan to an elastic queue.

import { call, closable, handle, mark } from "./form.js";
import { notice } from "./page.js";
import { count, seconds } from "./figure.js";

const dialog = document.getElementById("apply-dialog");
const form = document.getElementById("apply-form");
const now = document.getElementById("apply-now");
let plan = null;

closable(dialog);

export async function openApply(answer) {
  plan = answer;
  const { elements } = form;
  elements.max_workers.value = Math.min(answer.asked.threads, 1000);
  elements.max_load.value = answer.max_load;
  if (!elements.min_workers.value) elements.min_workers.value = 1;
  document.getElementById("apply-timeout").textContent = seconds(Math.ceil(answer.asked.timeout_s));
  dialog.showModal();
  try {
    const { queues } = await call("/api/plan/queues");
    const options = queues.map((name) => Object.assign(document.createElement("option"), { value: name }));
    document.getElementById("apply-queues").replaceChildren(...options);
    now.textContent = queues.length ? `A standard queue; there are ${count(queues.length)}.` : "There is no standard queue yet. Create one on the page of queues.";
  } catch (problem) {
    now.textContent = problem.message;
  }
}

// What the queue has now.
form.elements.queue.addEventListener("change", async () => {
  const name = form.elements.queue.value.trim();
  if (!name) return;
  try {
    const { elastic, timeout_s: timeout } = await call(`/api/plan/queue?${new URLSearchParams({ name })}`);
    const has = elastic
      ? `now ${elastic.minWorkers ?? 1} to ${elastic.maxWorkers ?? 10} workers, maxLoad ${elastic.maxLoad ?? 200}, rule ${elastic.policy ?? "paper"}`
      : "not elastic yet";
    now.textContent = `${name} is ${has}; its visibility timeout is ${seconds(timeout)}.`.replace("is now", "has now");
    if (elastic) form.elements.min_workers.value = elastic.minWorkers ?? 1;
  } catch (problem) {
    mark(form.elements.queue, problem.message);
  }
});

handle(
  form,
  () => {
    const { queue, policy, min_workers: min, max_workers: max, max_load: load, with_timeout: timed } = form.elements;
    return call("/api/plan/apply", {
      queue: queue.value.trim(),
      policy: policy.value,
      min_workers: Number(min.value),
      max_workers: Number(max.value),
      max_load: Number(load.value),
      timeout_s: timed.checked ? plan.asked.timeout_s : null,
    });
  },
  ({ queue }) => {
    dialog.close();
    notice(`${queue} follows the plan as soon as its controller looks: see the page Elastic.`);
  },
);
