import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { seriesOf, type Series, type Timeline, type View } from "../view";
import type { Chart } from "./chart";
import { smallMultiples } from "./multiples";
import { grid, plot } from "./style";

type Shown = Series & { timeline: Timeline };

// shown returns the timelines of a cell; none if several arms have no events and one backend each.
function shown(view: View, cell: number): Shown[] {
  const all = seriesOf(view, cell).filter((s): s is Shown => s.timeline !== undefined);
  return view.arms.length === 1 || all.some((s) => s.timeline.marks !== undefined || (s.backends?.length ?? 0) > 1) ? all : [];
}

const perSecond = (c: Timeline, n: number) => (1000 * n) / c.step;

const rates = (c: Timeline) => Array.from({ length: length(c) }, (_, i) => perSecond(c, c.backends.reduce((sum, b) => sum + (b.calls[i] ?? 0), 0)));

const peak = (c: Timeline) => Math.max(0, ...rates(c));

const peakFailed = (c: Timeline) => Math.max(0, ...c.errors.map((n) => perSecond(c, n)));

// p95Rate is the rate that 95 % of the steps stay below: one burst must not flatten the rest.
function p95Rate(all: Shown[]): number {
  const sorted = all.flatMap((s) => rates(s.timeline)).filter((v) => v > 0).sort((a, b) => a - b);
  return sorted[Math.floor(0.95 * (sorted.length - 1))] ?? 0;
}

export const timeline: Chart = {
  title: "Calls over time",
  note(view, cell) {
    const all = shown(view, cell);
    const failed = all.some((s) => s.timeline.errors.some((n) => n > 0));
    return `Calls answered per second in round ${[...new Set(all.map((s) => s.timeline.round))].join(", ")}, one layer for each backend` +
      (failed ? "; failed calls are below the line" : "") + "." + marksNote(all);
  },
  draw(view, cell, width) {
    const all = shown(view, cell);
    const highest = Math.max(...all.map((s) => peak(s.timeline)));
    const top = Math.min(highest, 1.5 * p95Rate(all));
    const failed = Math.max(...all.map((s) => peakFailed(s.timeline)));
    const bottom = top > 0 ? Math.min(failed, top) : failed; // many failed calls must not flatten the answered ones
    const end = Math.max(...all.map((s) => (length(s.timeline) * s.timeline.step) / 1000));
    return smallMultiples(all, width, 400, (s, w) => ({ title: view.arms[s.arm], plots: [one(view.arms[s.arm], s.timeline, w, { top, bottom, end })] }));
  },
  table(view, cell) {
    const all = shown(view, cell);
    return {
      columns: [{ name: "arm" }, { name: "start, s", number: true }, { name: "ready backends", number: true }, { name: "backend" }, { name: "calls", number: true }, { name: "failed, all backends", number: true }],
      rows: all.flatMap((s) => seconds(s.timeline).flatMap((row) => row.calls.map(([backend, n]) =>
        [view.arms[s.arm], row.from, row.ready, backend, n.toLocaleString("en"), row.failed.toLocaleString("en")]))),
    };
  },
};

const length = (c: Timeline) => Math.max(c.errors.length, c.ready.length, ...c.backends.map((b) => b.calls.length));

function one(name: string, c: Timeline, width: number, scale: { top: number; bottom: number; end: number }): Node {
  const at = (i: number) => ((i + 0.5) * c.step) / 1000;
  const layers = c.backends.flatMap((b, n) => b.calls.map((calls, i) => ({ t: at(i), rate: perSecond(c, calls), backend: b.backend, n })));
  const over = peak(c) > scale.top ? [peak(c)] : [];
  const under = peakFailed(c) > scale.bottom ? [peakFailed(c)] : [];
  const failed = c.errors.map((n, i) => ({ t0: (i * c.step) / 1000, t1: ((i + 1) * c.step) / 1000, rate: Math.max(-perSecond(c, n), -scale.bottom) })).filter((p) => p.rate < 0);
  const events = (c.marks ?? []).map((m, i) => ({ t: m.at / 1000, n: String(i + 1), what: m.what }));
  return plot(`Calls over time of ${name}`, {
    width, height: 130, marginLeft: 44, marginRight: 14, marginTop: 16, marginBottom: 24,
    x: { domain: [0, scale.end], label: null, tickFormat: (v: number) => `${v} s`, ticks: 5, tickSize: 0 },
    y: { domain: [-scale.bottom, scale.top || 1], ticks: 3, tickFormat: (v: number) => tick(Math.abs(v)), label: null, tickSize: 0 },
    marks: [
      Plot.gridY({ ...grid, ticks: 3 }),
      Plot.areaY(layers, Plot.stackY({ x: "t", y: "rate", z: "backend", fill: "var(--accent)", fillOpacity: (d: (typeof layers)[0]) => 0.35 + 0.5 * ((d.n % 3) / 2), curve: "step", stroke: "var(--paper)", strokeWidth: 0.5, clip: true })),
      Plot.rect(failed, { x1: "t0", x2: "t1", y1: 0, y2: "rate", fill: "var(--bad)" }),
      Plot.ruleY([0], { stroke: "var(--line-strong)" }),
      Plot.text(over, { frameAnchor: "top-right", text: (v: number) => `up to ${tick(v)}`, dy: -14, fill: "var(--quiet)", clip: false }),
      Plot.text(under, { frameAnchor: "bottom-right", text: (v: number) => `up to ${tick(v)} failed`, dy: -2, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3, clip: false }),
      Plot.ruleX(events, { x: "t", stroke: "var(--ink)", strokeDasharray: "2 2" }),
      Plot.text(events, { x: "t", text: "n", frameAnchor: "top", dy: -14, fill: "var(--ink)", fontWeight: 600, title: "what", clip: false }),
    ],
  });
}

// marksNote explains the numbers above the charts, which stand for other events in another run.
function marksNote(all: { timeline: Timeline }[]): string {
  const marks = all.map((s) => s.timeline.marks ?? []);
  const texts = Array.from({ length: Math.max(0, ...marks.map((m) => m.length)) }, (_, i) => {
    const events = new Map<string, string>();
    for (const m of marks.flatMap((all) => all.slice(i, i + 1))) if (!events.has(m.what)) events.set(m.what, `${m.what} at ${short(m.at / 1000)} s`);
    return `${i + 1}: ${[...events.values()].join(" or ")}`;
  });
  return texts.length === 0 ? "" : " " + texts.join("; ") + ".";
}

// seconds sums the steps of each second; longer steps stay as they are.
function seconds(c: Timeline): { from: string; ready: number | string; calls: [string, number][]; failed: number }[] {
  const perRow = Math.max(1, Math.round(1000 / c.step));
  const sum = (of: number[], from: number) => of.slice(from, from + perRow).reduce((a, b) => a + b, 0);
  const out = [];
  for (let i = 0; i < length(c); i += perRow) {
    out.push({ from: short((i * c.step) / 1000), ready: c.ready[i] ?? "–", calls: c.backends.map((b): [string, number] => [b.backend, sum(b.calls, i)]), failed: sum(c.errors, i) });
  }
  return out;
}
