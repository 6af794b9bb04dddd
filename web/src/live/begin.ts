// Starting a run, and those that wait.

import { element } from "../element";
import { ask, broken, type Experiment, type State } from "./api";

// noted is for how many ms a form says what became of it; the page shows the run itself.
const noted = 5000;

// start fills the form; where nothing can be started there is none.
export async function start(place: HTMLElement): Promise<void> {
  place.hidden = true;
  let offered: { experiments: Experiment[]; most_rounds: number };
  try {
    offered = await ask("/api/v1/experiments");
  } catch (error) {
    place.hidden = false;
    return broken(place, error);
  }
  if (offered.experiments.length === 0) return;
  place.hidden = false;

  const name = element("select", { id: "experiment" }, ...offered.experiments.map((e) => element("option", { value: e.name }, e.name)));
  const question = element("p", { class: "note" });
  const arms = element("div", { class: "choices" });
  const rounds = element("input", { id: "rounds", type: "number", min: "1", max: String(offered.most_rounds), inputmode: "numeric" });
  const quick = element("input", { type: "checkbox", id: "quick", checked: "" });
  const button = element("button", { type: "submit" }, "Start");
  const said = element("p", { role: "status" });
  const form = element("form", {},
    element("div", { class: "fields" },
      element("div", { class: "field" }, element("label", { for: "experiment" }, "Experiment"), name),
      element("div", { class: "field" }, element("label", { for: "rounds" }, "Rounds"), rounds),
      element("label", { class: "check" }, quick, "Quick: all of it, made small")),
    question, element("fieldset", {}, element("legend", {}, "Arms"), arms), button, said);
  place.append(element("h2", { id: "start" }, "Start a run"), form);

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
    if (chosen.length === 0) return void (said.textContent = "Choose an arm.");
    button.disabled = true;
    try {
      const { place } = await ask<{ id: string; place: number }>("/api/v1/runs", { experiment: name.value, arms: chosen.length === boxes.length ? [] : chosen, rounds: Number(rounds.value) || 0, quick: quick.checked });
      said.textContent = place === 0 ? "It begins." : `It waits; ${place === 1 ? "one is" : `${place} are`} before it.`;
      if (place === 0) document.getElementById("main")!.scrollIntoView();
      setTimeout(() => (said.textContent = ""), noted);
    } catch (error) {
      said.textContent = error instanceof Error ? error.message : String(error);
    }
    button.disabled = false;
  });
}

// waiting lists the runs that wait, each with a button that takes it out.
export function waiting(place: HTMLElement, queue: State["queue"]): void {
  const ids = queue.map((w) => w.id).join(" ");
  if ((place.dataset.queue ?? "") === ids) return;
  place.dataset.queue = ids;
  place.querySelector(".queue")?.remove();
  if (queue.length === 0) return;
  const items = queue.map((w) => {
    const button = element("button", { type: "button", class: "do stop", "aria-label": `Take ${w.experiment}, ${w.id}, out` }, "Take out");
    button.addEventListener("click", () => ask(`/api/v1/runs/${w.id}/stop`, {}).catch((error) => broken(place, error)));
    return element("li", {}, `${w.experiment}, ${w.planned} trials`, button);
  });
  place.append(element("div", { class: "queue" }, element("h3", {}, "Waiting"), element("ul", { class: "waiting" }, ...items)));
}
