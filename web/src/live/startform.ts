// The form that starts a run, and the queue of runs.

import { element } from "../element";
import { request, showError, type Experiment, type State } from "./api";
import { ServiceFields } from "./servicefields";

// messageTime is how long, in ms, the form shows its message.
const messageTime = 5000;

const load = "load"; // the experiment without a comparison

// startForm builds the form. It stays hidden where the server cannot start runs.
export async function startForm(container: HTMLElement): Promise<void> {
  container.hidden = true;
  let offered: { experiments: Experiment[]; most_rounds: number };
  const service = new ServiceFields();
  try {
    offered = await request("/api/v1/experiments");
    await service.fetch();
  } catch (error) {
    container.hidden = false;
    return showError(container, error);
  }
  if (offered.experiments.length === 0) return;
  container.hidden = false;

  const names = [...offered.experiments.map((e) => e.name), ...(service.offered() ? [load] : [])];
  const name = element("select", { id: "experiment" }, ...names.map((n) => element("option", { value: n }, n)));
  const question = element("p", { class: "note" });
  const choices = element("div", { class: "choices" });
  const arms = element("fieldset", {}, element("legend", {}, "Arms"), choices);
  const rounds = number("rounds", 1, offered.most_rounds, "");
  rounds.placeholder = "auto";
  rounds.title = "Without a number, the run ends when its headline metrics are decided. A quick run has the rounds of the experiment.";
  const rate = number("rate", 1, 20_000, "100");
  const duration = number("duration", 1, 600, "10");
  const quick = element("input", { type: "checkbox", id: "quick", checked: "" });
  const button = element("button", { type: "submit" }, "Start");
  const message = element("p", { role: "status" });
  const comparing = [field("Rounds", rounds), element("label", { class: "check" }, quick, "Quick: the whole experiment, scaled down"), arms];
  const loading = [field("Calls/s", rate), field("Seconds", duration)];
  const form = element("form", {},
    element("div", { class: "fields" }, field("Experiment", name), ...comparing.slice(0, 2), ...loading, ...service.fields),
    service.details, service.several, question, arms, button, message);
  container.append(element("h2", { id: "start" }, "Start a run"), form);

  const pick = (): void => {
    const e = offered.experiments.find((e) => e.name === name.value);
    for (const f of comparing) f.hidden = !e;
    for (const f of loading) f.hidden = !!e;
    // A browser checks hidden fields too, and does not start a run with a wrong value in one of them.
    rounds.disabled = !e;
    rate.disabled = duration.disabled = !!e;
    service.requireOne(!e);
    question.textContent = e?.question ?? "How does a service respond at a rate?";
    choices.replaceChildren(...(e?.arms ?? []).map((arm) => element("label", {}, element("input", { type: "checkbox", name: "arm", value: arm, checked: "" }), arm)));
  };
  name.addEventListener("change", pick);
  pick();
  let shown = 0; // clears the message
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const boxes = [...choices.querySelectorAll<HTMLInputElement>("input")];
    const chosen = boxes.filter((b) => b.checked).map((b) => b.value);
    const comparison = name.value !== load;
    clearTimeout(shown);
    if (comparison && chosen.length === 0) return void (message.textContent = "Choose at least one arm.");
    button.disabled = true;
    try {
      const kind = comparison ? { arms: chosen.length === boxes.length ? [] : chosen, rounds: Number(rounds.value) || 0, quick: quick.checked } : { rate: Number(rate.value), duration_s: Number(duration.value) };
      const { place } = await request<{ id: string; place: number }>("/api/v1/runs", { experiment: name.value, ...kind, ...service.chosen() });
      message.textContent = place === 0 ? "The run has started." : `The run is queued behind ${place} other ${place === 1 ? "run" : "runs"}.`;
      if (place === 0) document.getElementById("main")!.scrollIntoView();
      shown = setTimeout(() => (message.textContent = ""), messageTime);
    } catch (error) {
      message.textContent = error instanceof Error ? error.message : String(error);
    }
    button.disabled = false;
  });
}

const number = (id: string, min: number, max: number, value: string) => element("input", { id, type: "number", min: `${min}`, max: `${max}`, value, inputmode: "numeric" });

const field = (label: string, input: HTMLElement) => element("div", { class: "field" }, element("label", { for: input.id }, label), input);

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
