// The current or last run, followed by server-sent events.

import { element } from "../element";
import type { FinishedTrial, Second, State } from "./api";
import { overview } from "./overview";
import { showQueue, startForm } from "./startform";
import { drawTrial } from "./trialcharts";
import { RunView } from "./runview";

// reconnectDelay is in ms. A browser reconnects by itself after a lost connection, but not after an
// error response or a failed connection.
const reconnectDelay = 2000;

export function follow(main: HTMLElement): void {
  const view = new RunView();
  const form = element("section", { "aria-labelledby": "start" });
  const experiments = element("section", { class: "experiments", "aria-labelledby": "experiments", hidden: "" });
  main.append(view.container, form, experiments);
  void startForm(form);
  const choose = (name: string): void => {
    const select = document.querySelector<HTMLSelectElement>("#experiment")!;
    select.value = name;
    select.dispatchEvent(new Event("change"));
    form.scrollIntoView();
    select.focus();
  };
  let phase = "";

  let trials: FinishedTrial[] = [];
  let seconds: Second[] = [];
  const update = (state: State): void => {
    if (state.phase === "idle") trials = [];
    trials = [...trials.slice(0, state.from_trial), ...state.trials];
    seconds = [...seconds.slice(0, state.from_second), ...state.seconds];
    view.show(state, trials, seconds);
    drawTrial(view, state, seconds);
    showQueue(form, state.queue);
    const active = state.phase === "running" || state.phase === "stopping";
    if (phase === "" || (phase === "active" && !active)) void overview(experiments, choose); // a finished run changes an answer
    phase = active ? "active" : "over";
  };
  connect(update);
}

function connect(update: (state: State) => void): void {
  const line = document.getElementById("line")!;
  const source = new EventSource("/api/v1/live/events");
  let over = false;
  source.addEventListener("open", () => (line.textContent = ""));
  source.addEventListener("state", (event) => {
    const state = JSON.parse((event as MessageEvent<string>).data) as State;
    over = ["done", "partial", "failed"].includes(state.phase);
    update(state);
  });
  source.addEventListener("error", () => {
    line.textContent = over ? "The server has stopped" : "Connection lost; reconnecting …";
    if (source.readyState === EventSource.CLOSED) setTimeout(() => void reconnect(update), reconnectDelay);
  });
}

// reconnect tries until the server responds. Without a valid session it opens the login page.
async function reconnect(update: (state: State) => void): Promise<void> {
  const response = await fetch("/api/v1/live").catch(() => null);
  if (response?.status === 401) return location.assign("/login");
  if (response?.ok) return connect(update);
  setTimeout(() => void reconnect(update), reconnectDelay);
}
