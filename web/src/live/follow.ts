// The run that goes on, or went on last: followed by server-sent events.

import { element } from "../element";
import type { Ended, Second, State } from "./api";
import { start, waiting } from "./begin";
import { picture } from "./pictures";
import { Shown } from "./shown";

// silence is after how many ms without a connection it is made anew. A browser does so
// itself where it was lost, but not where the server answered otherwise, or nobody did.
const silence = 2000;

export function follow(main: HTMLElement): void {
  const shown = new Shown();
  const form = element("section", { "aria-labelledby": "start" });
  main.append(shown.place, form);
  void start(form);

  let trials: Ended[] = [];
  let seconds: Second[] = [];
  const take = (state: State): void => {
    if (state.phase === "idle") trials = [];
    trials = [...trials.slice(0, state.from_trial), ...state.trials];
    seconds = [...seconds.slice(0, state.from_second), ...state.seconds];
    shown.show(state, trials);
    picture(shown, state, seconds);
    waiting(form, state.queue);
  };
  connect(take);
}

function connect(take: (state: State) => void): void {
  const line = document.getElementById("line")!;
  const source = new EventSource("/api/v1/live/events");
  let over = false;
  source.addEventListener("open", () => (line.textContent = ""));
  source.addEventListener("state", (event) => {
    const state = JSON.parse((event as MessageEvent<string>).data) as State;
    over = ["done", "partial", "failed"].includes(state.phase);
    take(state);
  });
  source.addEventListener("error", () => {
    line.textContent = over ? "The server has ended" : "Connection lost; trying again …";
    if (source.readyState === EventSource.CLOSED) setTimeout(() => void again(take), silence);
  });
}

// again connects once the server answers; one that does not know this page any more shows
// its login.
async function again(take: (state: State) => void): Promise<void> {
  const answer = await fetch("/api/v1/live").catch(() => null);
  if (answer?.status === 401) return location.assign("/login");
  if (answer?.ok) return connect(take);
  setTimeout(() => void again(take), silence);
}
