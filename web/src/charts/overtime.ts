import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { seriesOf, type Series, type View } from "../view";
import type { Chart } from "./chart";
import { smallMultiples } from "./multiples";
import { grid, plot } from "./style";
import { logTicks, paddedRange } from "./ticks";

type Shown = Series & { over_time: NonNullable<Series["over_time"]> };

const shown = (view: View, cell: number): Shown[] => seriesOf(view, cell).filter((s): s is Shown => s.over_time !== undefined);

const lines = [{ name: "p99", color: "var(--accent)" }, { name: "p50", color: "var(--ink)" }] as const;

type Point = { t: number; ms: number };

// points are those intervals in which calls were due.
const points = (s: Shown, name: "p50" | "p99"): Point[] =>
  s.over_time[name].map((ms, i) => ({ t: ((i + 0.5) * s.over_time.step) / 1000, ms: ms ?? NaN }));

export const overtime: Chart = {
  title: "Latency over time",
  note: (view, cell) => `By when calls were due, in round ${[...new Set(shown(view, cell).map((s) => s.over_time.round))].join(", ")}. Where a line has a gap, no call was due, or too many were lost for that percentile.`,
  draw(view, cell, width) {
    const all = shown(view, cell);
    const values = all.flatMap((s) => [...s.over_time.p50, ...s.over_time.p99]).filter((v): v is number => typeof v === "number" && v > 0);
    if (values.length === 0) return [];
    const range = paddedRange(values, 1.5);
    const end = Math.max(...all.map((s) => (s.over_time.p50.length * s.over_time.step) / 1000));
    return smallMultiples(all, width, 400, (s, w) => ({ title: view.arms[s.arm], plots: [one(view.arms[s.arm], s, w, { range, end })] }));
  },
  table: (view, cell) => ({
    columns: [{ name: "arm" }, { name: "start, s", number: true }, { name: "p50, ms", number: true }, { name: "p99, ms", number: true }],
    rows: shown(view, cell).flatMap((s) => s.over_time.p50.map((p50, i) => [view.arms[s.arm], short((i * s.over_time.step) / 1000), ...[p50, s.over_time.p99[i]].map((v) => (typeof v === "number" ? short(v) : "–"))])),
  }),
};

function one(name: string, s: Shown, width: number, scale: { range: [number, number]; end: number }): Node {
  const events = (s.timeline?.marks ?? []).map((m, i) => ({ t: m.at / 1000, n: String(i + 1), what: m.what }));
  const ticks = logTicks(scale.range, 4);
  return plot(`Latency over time of ${name}; the table below has the numbers`, {
    width, height: 150, marginLeft: 48, marginRight: 30, marginTop: 18, marginBottom: 24,
    x: { domain: [0, scale.end], label: null, tickFormat: (v: number) => `${v} s`, ticks: 5, tickSize: 0 },
    y: { type: "log", domain: scale.range, label: "ms", labelArrow: "none", ticks, tickFormat: tick, tickSize: 0 },
    marks: [
      Plot.gridY({ ...grid, ticks }),
      ...lines.flatMap((l) => {
        const all = points(s, l.name);
        return [
          Plot.line(all, { x: "t", y: "ms", stroke: l.color, strokeWidth: 1.75 }),
          Plot.text(all.filter((p) => Number.isFinite(p.ms)).slice(-1), { x: "t", y: "ms", text: () => l.name, textAnchor: "start", dx: 5, fill: l.color }),
        ];
      }),
      Plot.ruleX(events, { x: "t", stroke: "var(--ink)", strokeDasharray: "2 2" }),
      Plot.text(events, { x: "t", text: "n", frameAnchor: "top", dy: -14, fill: "var(--ink)", fontWeight: 600, title: "what", clip: false }),
    ],
  });
}
