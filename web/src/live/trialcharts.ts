// Charts of the current trial.

import * as Plot from "@observablehq/plot";
import { armStyle, grid, plot, swatch, type ArmStyle } from "../charts/style";
import { element } from "../element";
import { short, tick } from "../format";
import type { Second, State } from "./api";
import type { RunView } from "./runview";

export function drawTrial(view: RunView, state: State, seconds: Second[]): void {
  const width = Math.min(view.container.clientWidth, 480);
  const drawn = [rateChart(seconds, state, width), latencyChart(seconds, state, width), backendChart(state, width)].filter((f) => f !== null);
  view.pictures.replaceChildren(...drawn);
  const events = state.now?.events ?? [];
  view.events.hidden = events.length === 0;
  const shown = `${state.run?.id} ${state.now?.order} ${events.length}`;
  if (view.events.dataset.shown !== shown) {
    view.events.dataset.shown = shown;
    view.events.replaceChildren(...events.map((e) => element("li", e.error ? { class: "warning" } : {}, `${short(e.at_ms / 1000)} s: ${e.what}${e.hit.length ? ` (${e.hit.join(", ")})` : ""}${e.error ? `: ${e.error}` : ""}`)));
  }
}

const figure = (title: string, note: string, drawn: Node, lines: Line[] = []) => element("figure", {}, element("figcaption", {}, element("strong", {}, title), element("span", {}, note)), ...legend(lines), element("div", { class: "picture" }, drawn));

// Line is the seconds of an arm. Arms side by side, or in turns, have a line each.
interface Line { arm: string; style: ArmStyle; seconds: Second[] }

function linesOf(seconds: Second[], state: State): Line[] {
  const arms = [...new Set(seconds.map((s) => s.arm))];
  const all = [...new Set([...(state.run?.arms ?? []), ...arms])].filter((arm) => arms.includes(arm));
  return all.map((arm, i) => ({ arm, style: { ...armStyle(all, "", i), width: 2 }, seconds: seconds.filter((s) => s.arm === arm) }));
}

// legend names the lines, if there are several.
const legend = (lines: Line[]): HTMLElement[] => (lines.length < 2 ? [] : [element("ul", { class: "legend" }, ...lines.map((l) => element("li", { class: "check" }, swatch(l.style), l.arm)))]);

// inWords describes the last second of each line.
const inWords = (lines: Line[], of: (last: Second) => string): string => lines.map((l) => (lines.length > 1 ? `${l.arm}: ` : "") + of(l.seconds[l.seconds.length - 1])).join("; ");

const eventTimes = (state: State): number[] => (state.now?.events ?? []).map((e) => e.at_ms / 1000);

// together is the time in seconds within which arms side by side report the same second.
const together = 0.05;

// failedBars are the calls that failed between one second and the next. The same second of arms side by side is one bar, or
// the bars would be as narrow as the time between the reports.
function failedBars(seconds: Second[]): { x1: number; x2: number; rate: number }[] {
  const bars: { x1: number; x2: number; failed: number }[] = [];
  let failed = 0;
  for (const s of seconds) {
    const last = bars[bars.length - 1];
    if (last && s.at_s - last.x2 < together) {
      last.x2 = s.at_s;
      last.failed += s.failed - failed;
    } else bars.push({ x1: last?.x2 ?? 0, x2: s.at_s, failed: s.failed - failed });
    failed = s.failed;
  }
  return bars.filter((b) => b.failed > 0 && b.x2 > b.x1).map((b) => ({ x1: b.x1, x2: b.x2, rate: -b.failed / (b.x2 - b.x1) }));
}

// rateChart draws the calls that ended in each second, and below the line those that failed.
function rateChart(seconds: Second[], state: State, width: number): HTMLElement | null {
  if (seconds.length < 2) return null;
  const failed = failedBars(seconds);
  const marks = eventTimes(state);
  const last = seconds[seconds.length - 1];
  const lines = linesOf(seconds, state);
  return figure("Calls, by second", failed.length ? "Failed calls are below the line." : "", plot(`${inWords(lines, (s) => `${short(s.rate)} calls in the last second`)}, ${last.failed} failed since the start`, {
    width, height: 180, marginLeft: 48, marginRight: 36, marginTop: 20,
    x: { domain: [0, last.at_s], label: "s", labelArrow: "none", tickFormat: (v: number) => (Number.isInteger(v) ? tick(v) : ""), tickSize: 0, ticks: 5 },
    y: { label: "calls/s", labelArrow: "none", zero: true, nice: true, tickFormat: (v: number) => tick(Math.abs(v)), tickSize: 0, ticks: 5 },
    marks: [
      Plot.gridY({ ...grid, ticks: 5 }), Plot.ruleX(marks, { stroke: "var(--bad)", strokeDasharray: "3 3" }), Plot.ruleY([0], { stroke: "var(--line-strong)" }),
      Plot.rect(failed, { x1: "x1", x2: "x2", y1: 0, y2: "rate", fill: "var(--bad)" }),
      ...lines.map((l) => Plot.line(l.seconds, { x: "at_s", y: "rate", stroke: l.style.color, strokeWidth: l.style.width, strokeDasharray: l.style.dash })),
    ],
  }), lines);
}

// latencyChart draws the latency of each second, with the events.
function latencyChart(seconds: Second[], state: State, width: number): HTMLElement | null {
  const points = seconds.filter((s) => s.p50 !== null && s.p99 !== null);
  if (points.length < 2) return null;
  const marks = eventTimes(state);
  const last = points[points.length - 1];
  const lines = linesOf(points, state);
  const several = lines.length > 1;
  const name = (key: "p50" | "p99") => Plot.text([last], { x: "at_s", y: key, text: () => key, textAnchor: "start", dx: 6, fill: "var(--ink)" });
  const notes = [several ? "Lines of dashes are p99, the others p50." : "", marks.length ? "Vertical lines mark events." : ""].filter((n) => n).join(" ");
  return figure("Latency of answered calls, by second", notes, plot(inWords(lines, (s) => `p50 ${short(s.p50!)} ms and p99 ${short(s.p99!)} ms in the last second`), {
    width, height: 220, marginLeft: 48, marginRight: 36, marginTop: 20,
    x: { domain: [0, last.at_s], label: "s", labelArrow: "none", tickFormat: (v: number) => (Number.isInteger(v) ? tick(v) : ""), tickSize: 0, ticks: 5 },
    y: { label: "ms", labelArrow: "none", zero: true, nice: true, tickFormat: tick, tickSize: 0, ticks: 5 },
    marks: [
      Plot.gridY({ ...grid, ticks: 5 }), Plot.ruleX(marks, { stroke: "var(--bad)", strokeDasharray: "3 3" }),
      ...lines.flatMap((l) => [
        Plot.line(l.seconds, { x: "at_s", y: "p99", stroke: several ? l.style.color : "var(--c1)", strokeWidth: 1.75, strokeDasharray: "5 3" }),
        Plot.line(l.seconds, { x: "at_s", y: "p50", stroke: l.style.color, strokeWidth: l.style.width }),
      ]),
      ...(several ? [] : [name("p50"), name("p99")]),
    ],
  }), lines);
}

// maxBackends is how many backends the chart shows.
const maxBackends = 24;

function backendChart(state: State, width: number): HTMLElement | null {
  const all = Object.entries(state.now?.backends ?? {}).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  if (all.length === 0) return null;
  const bars = all.slice(0, maxBackends).map(([backend, calls]) => ({ backend, calls }));
  const left = Math.min(width / 3, 16 + 7 * Math.max(...bars.map((b) => b.backend.length)));
  return figure("Calls per backend", all.length > maxBackends ? `The first ${maxBackends} of ${all.length} backends.` : `Arm ${state.now!.arm}.`, plot(bars.map((b) => `${b.backend}: ${b.calls}`).join(", "), {
    width, height: 40 + 22 * bars.length, marginLeft: left, marginRight: 56, marginTop: 4, marginBottom: 24,
    x: { domain: [0, Math.max(1, ...bars.map((b) => b.calls))], ticks: 4, tickFormat: tick, tickSize: 0, label: null },
    y: { label: null, tickSize: 0, domain: bars.map((b) => b.backend) },
    marks: [
      Plot.gridX({ ...grid, ticks: 4 }), Plot.barX(bars, { x: "calls", y: "backend", fill: "var(--c0)", insetTop: 2, insetBottom: 2 }),
      Plot.text(bars, { x: "calls", y: "backend", text: (b: { calls: number }) => b.calls.toLocaleString("en"), textAnchor: "start", dx: 4, fill: "var(--ink)" }),
    ],
  }));
}
