// The view of a run. It changes the texts of existing elements, so that the focus does not move and a
// screen reader announces only changes.

import { element } from "../element";
import { ratioText, short } from "../format";
import { buildTable, withTools } from "../table";
import { atLeast } from "../view";
import { request, showError, cellText, formatDuration, reportPath, type FinishedTrial, type NamedCalls, type Second, type State } from "./api";

const phases: Record<State["phase"], string> = { idle: "No run in progress", running: "Running", stopping: "Stopping", done: "Done", partial: "Stopped", failed: "Failed" };
const columns: [string, boolean][] = [["trial", true], ["round", true], ["arm", false], ["cell", false], ["calls", true], ["calls/s", true], ["p50 ms", true], ["p99 ms", true], ["failed", true]];

export class RunView {
  readonly container = element("section", { "aria-labelledby": "question" });
  readonly pictures = element("div", { class: "pictures" });
  readonly events = element("ul", { class: "events", "aria-label": "Events of this trial" });
  private eyebrow = element("p", { class: "eyebrow" });
  private question = element("h1", { id: "question" }, "No run in progress");
  private failed = element("ul", { class: "failed", "aria-label": "Runs that failed before this one", role: "status" });
  private answer = element("p", { class: "answer", role: "status" });
  private now = element("p", {});
  private stop = element("button", { type: "button", class: "action stop" }, "Stop");
  private bar = element("progress", { "aria-label": "Trials done" });
  private figures = element("dl", { class: "figures" });
  private verdicts = element("ul", { class: "cards" });
  private rows = element("tbody");
  private byName = element("div", {}); // the calls of a mix or a flow
  private lost = element("p", { class: "note" }, "A call that failed or was dropped counts as its deadline in p50 and p99; >: a percentile of such calls.");
  private table: HTMLElement;
  private id = "";
  private known = 0;

  constructor() {
    const head = element("thead", {}, element("tr", {}, ...columns.map(([name, n]) => element("th", { scope: "col", ...(n ? { class: "n" } : {}) }, name))));
    this.table = element("div", {}, element("h3", {}, "Finished trials, newest first"),
      element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Finished trials" }, element("table", {}, head, this.rows)), this.lost);
    this.container.append(this.failed, this.eyebrow, this.question, this.answer, element("div", { class: "where" }, this.now, this.stop), this.bar, this.verdicts, this.figures, this.pictures, this.events, this.byName, this.table);
    this.stop.addEventListener("click", () => {
      this.stop.disabled = true;
      request(`/api/v1/runs/${this.id}/stop`, {}).catch((error) => showError(this.container, error));
    });
  }

  // show takes the trials and the seconds of the run so far; those of the state are the new ones.
  show(state: State, trials: FinishedTrial[], seconds: Second[]): void {
    const run = state.run;
    const active = state.phase === "running" || state.phase === "stopping";
    this.container.dataset.phase = state.phase;
    this.container.classList.toggle("idle", !run);
    if (this.id !== (run?.id ?? "")) this.clear();
    this.id = run?.id ?? "";
    setText(this.question, run ? run.question : phases.idle);
    this.eyebrow.replaceChildren(...(run ? [element("b", {}, phases[state.phase]), element("span", {}, run.experiment + (run.quick ? ", quick" : "")), element("span", {}, run.id)] : []));
    const hint = run ? "" : "Start a run, or open the last answers below.";
    const said = state.answer && state.why ? `${state.answer} (${state.why})` : state.answer ?? state.why ?? hint;
    this.showAnswer(said, run && !active && state.phase !== "failed" && state.answer ? reportPath(run.id) : "");
    this.showFailed(state.failed_runs);
    this.stop.hidden = !active;
    this.stop.disabled = state.phase === "stopping";
    this.bar.hidden = !active;
    if (run) {
      this.bar.max = run.planned;
      this.bar.value = state.done;
    }
    this.progress(state, active);
    this.verdicts.replaceChildren(...(active ? [] : state.verdicts.map(card)));
    this.numbers(state, trials, seconds);
    this.append(trials);
    document.title = run && active ? `${state.done}/${run.planned} ${run.experiment} – rpclab` : "rpclab";
  }

  // showAnswer shows a text with a link to the report, if there is one, and changes them only if they differ.
  private showAnswer(said: string, report: string): void {
    if (this.answer.dataset.shown === said + report) return;
    this.answer.dataset.shown = said + report;
    this.answer.replaceChildren(said, ...(report ? [" ", element("a", { href: report }, "Open the report")] : []));
  }

  // showFailed shows the runs that failed before runs that were queued behind them.
  private showFailed(runs: State["failed_runs"]): void {
    this.failed.hidden = runs.length === 0;
    if (this.failed.childElementCount === runs.length && this.failed.dataset.last === runs.at(-1)?.id) return;
    this.failed.dataset.last = runs.at(-1)?.id;
    this.failed.replaceChildren(...runs.map((r) => element("li", { class: "warning" }, `${r.experiment}, ${r.id}, failed: ${r.why}`)));
  }

  // progress shows which trial runs, and how long the rest will take.
  private progress(state: State, active: boolean): void {
    const { run, now } = state;
    if (!run || !active) return setText(this.now, run ? `${state.done} of ${run.planned} trials` : "");
    if (!now) return setText(this.now, "Starting …");
    const left = state.left_s === null ? "" : `, about ${formatDuration(state.left_s)} left`;
    this.now.replaceChildren(element("b", {}, `Trial ${Math.min(now.order + 1, run.planned)} of ${run.planned}`), `${left}: ${now.arm}${now.cell ? `, ${now.cell}` : ""}, round ${now.round} of ${run.rounds}${now.doing ? `, ${now.doing}` : ""}`);
  }

  // numbers shows the last second of the current trial, or the last trial if that has ended.
  private numbers(state: State, trials: FinishedTrial[], seconds: Second[]): void {
    const trial = trials.at(-1);
    const ended = trial !== undefined && trial.order >= (state.now?.order ?? 0);
    const second = ended ? undefined : seconds.at(-1);
    this.figures.hidden = !second && !trial;
    if (!second && !trial) return;
    if (!second && this.figures.dataset.trial === String(trial!.order)) return;
    const from = second ?? trial!;
    this.figures.dataset.trial = second ? "" : String(trial!.order);
    const several = second && seconds.some((s) => s.arm !== second.arm); // arms side by side, or in turns
    const of = second ? `last second${several ? ` of ${second.arm}` : ""}` : trial!.arm;
    const pair = (name: string, value: string, unit: string) => element("div", {}, element("dt", {}, name), element("dd", {}, value, element("i", {}, unit)));
    const answered = second ? " of answered calls" : "";
    this.figures.replaceChildren(pair(`Calls, ${of}`, short(from.rate), "/s"), pair(`p50${answered}`, ms(from, 2), "ms"), pair(`p99${answered}`, ms(from, 100), "ms"), pair("Failed", from.failed.toLocaleString("en"), "calls"));
  }

  // clear removes what belongs to another run, also one that ended while the connection was lost.
  private clear(): void {
    this.rows.replaceChildren();
    this.known = 0;
    this.figures.dataset.trial = "";
  }

  private append(trials: FinishedTrial[]): void {
    for (const t of trials.slice(this.known)) {
      const values = [`${t.order + 1}`, `${t.round}`, t.arm, t.cell ?? "", t.calls.toLocaleString("en"), short(t.rate), ms(t, 2), ms(t, 100), t.failed.toLocaleString("en")];
      const cells = t.why ? [...values.slice(0, 4).map((v, i) => cell(v, i)), element("td", { colspan: "5", class: "warning" }, t.why)] : values.map((v, i) => cell(v, i));
      this.rows.prepend(element("tr", {}, ...cells));
    }
    this.known = trials.length;
    this.callsByName(trials.at(-1));
    this.table.hidden = this.known === 0;
    this.lost.hidden = !trials.some((t) => t.lost);
    this.table.classList.toggle("whole", !trials.some((t) => t.cell)); // hides the column cell
  }

  // callsByName shows each call of the last trial that made several.
  private callsByName(last?: FinishedTrial): void {
    const all = last?.calls_by_name ?? [];
    this.byName.hidden = all.length === 0;
    if (all.length === 0 || this.byName.dataset.trial === `${this.id} ${last!.order}`) return;
    this.byName.dataset.trial = `${this.id} ${last!.order}`;
    const columns = [{ name: "call" }, ...["calls", "p50 ms", "p99 ms", "failed"].map((name) => ({ name, number: true }))];
    const rows = all.map((c) => [c.name, c.calls.toLocaleString("en"), ms(c, 2), ms(c, 100), c.failed.toLocaleString("en")]);
    this.byName.replaceChildren(element("h3", {}, `Calls by name, trial ${last!.order + 1}`), withTools(buildTable({ columns, rows }), "Calls by name"));
  }
}

// ms returns the percentile that one in q calls exceeds, 2 or 100. Seconds do not have lost calls.
const ms = (of: Second | FinishedTrial | NamedCalls, q: 2 | 100): string => {
  const value = q === 2 ? of.p50 : of.p99;
  return value === null ? "–" : atLeast("lost" in of ? of : {}, q, short(value));
};

const cell = (text: string, column: number) => element("td", columns[column][1] ? { class: "n" } : {}, text);

// setText changes a text only if it differs: screen readers announce every change.
function setText(container: HTMLElement, text: string): void {
  if (container.dataset.text === text && container.childNodes.length > 0) return;
  container.dataset.text = text;
  container.textContent = text;
}

const words: Record<string, [string, string]> = { better: ["▲", "better"], worse: ["▼", "worse"], equivalent: ["=", "equivalent"], undecided: ["?", "undecided"] };

// card shows one verdict with its ratio and interval.
function card(v: State["verdicts"][number]): HTMLElement {
  const [mark, word] = v.unfit ? ["", "no verdict"] : words[v.decision] ?? ["", v.decision]; // a guard leaves none
  const metric = v.metric.replace(/^latency_/, "") + (v.metric.startsWith("latency") ? " latency" : "");
  const interval = v.values ? "" : v.ci[0] > 0 || v.ci[1] > 0 ? `${ratioText(v.ci[0])}–${ratioText(v.ci[1])}` : "no interval";
  return element("li", { class: "card" }, element("h4", {}, v.a), element("p", { class: "against" }, `compared with ${v.b}${Object.keys(v.cell).length ? `, ${cellText(v.cell)}` : ""}`),
    element("div", { class: `line ${v.decision}` }, element("span", { class: "metric" }, metric), element("span", { class: "word" }, element("b", { "aria-hidden": "true" }, mark), ` ${word}`),
      v.values ? element("span", { class: "ratio values" }, v.values) : element("span", { class: "ratio" }, v.ratio ? ratioText(v.ratio, v.bound) : "–", element("i", {}, v.ratio ? "×" : "")), element("span", { class: "interval" }, interval)), ...(v.reason ? [element("p", { class: "against" }, v.reason)] : []));
}
