// The form that starts a run, and the queue of runs.

import { element } from "../element";
import { request, showError, type Experiment, type State } from "./api";

// messageTime is how long, in ms, the form shows its message.
const messageTime = 5000;

// startForm builds the form. It stays hidden where the server cannot start runs.
export async function startForm(container: HTMLElement): Promise<void> {
  container.hidden = true;
  let offered: { experiments: Experiment[]; most_rounds: number };
  try {
    offered = await request("/api/v1/experiments");
  } catch (error) {
    container.hidden = false;
    return showError(container, error);
  }
  if (offered.experiments.length === 0) return;
  container.hidden = false;

  const name = element("select", { id: "experiment" }, ...offered.experiments.map((e) => element("option", { value: e.name }, e.name)));
  const question = element("p", { class: "note" });
  const arms = element("div", { class: "choices" });
  const rounds = element("input", { id: "rounds", type: "number", min: "1", max: String(offered.most_rounds), inputmode: "numeric" });
  const quick = element("input", { type: "checkbox", id: "quick", checked: "" });
  const button = element("button", { type: "submit" }, "Start");
  const message = element("p", { role: "status" });
  const form = element("form", {},
    element("div", { class: "fields" },
      element("div", { class: "field" }, element("label", { for: "experiment" }, "Experiment"), name),
      element("div", { class: "field" }, element("label", { for: "rounds" }, "Rounds"), rounds),
      element("label", { class: "check" }, quick, "Quick: the whole experiment, scaled down")),
    question, element("fieldset", {}, element("legend", {}, "Arms"), arms), button, message);
  container.append(element("h2", { id: "start" }, "Start a run"), form);

  const pick = (): void => {
    const e = offered.experiments.find((e) => e.name === name.value)!;
    question.textContent = e.question;
    rounds.placeholder = `${e.rounds}`;
    arms.replaceChildren(...e.arms.map((arm) => element("label", {}, element("input", { type: "checkbox", name: "arm", value: arm, checked: "" }), arm)));
  };
  name.addEventListener("change", pick);
  pick();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const boxes = [...arms.querySelectorAll<HTMLInputElement>("input")];
    const chosen = boxes.filter((b) => b.checked).map((b) => b.value);
    if (chosen.length === 0) return void (message.textContent = "Choose at least one arm.");
    button.disabled = true;
    try {
      const { place } = await request<{ id: string; place: number }>("/api/v1/runs", { experiment: name.value, arms: chosen.length === boxes.length ? [] : chosen, rounds: Number(rounds.value) || 0, quick: quick.checked });
      message.textContent = place === 0 ? "The run has started." : `The run is queued behind ${place} other ${place === 1 ? "run" : "runs"}.`;
      if (place === 0) document.getElementById("main")!.scrollIntoView();
      setTimeout(() => (message.textContent = ""), messageTime);
    } catch (error) {
      message.textContent = error instanceof Error ? error.message : String(error);
    }
    button.disabled = false;
  });
}

// showQueue lists the queued runs, each with a button that removes it.
export function showQueue(container: HTMLElement, queue: State["queue"]): void {
  const ids = queue.map((w) => w.id).join(" ");
  if ((container.dataset.queue ?? "") === ids) return;
  container.dataset.queue = ids;
  container.querySelector(".queue")?.remove();
  if (queue.length === 0) return;
  const items = queue.map((w) => {
    const button = element("button", { type: "button", class: "action stop", "aria-label": `Remove ${w.experiment}, ${w.id}, from the queue` }, "Remove");
    button.addEventListener("click", () => request(`/api/v1/runs/${w.id}/stop`, {}).catch((error) => showError(container, error)));
    return element("li", {}, `${w.experiment}, ${w.planned} trials`, button);
  });
  container.append(element("div", { class: "queue" }, element("h3", {}, "Queued"), element("ul", { class: "waiting" }, ...items)));
}
