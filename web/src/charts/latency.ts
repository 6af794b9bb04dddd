import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { atLeast, isBound, seriesOf, type Series, type View } from "../view";
import type { Chart } from "./chart";
import { grid, armStyle, plot } from "./style";
import { logTicks, paddedRange } from "./ticks";

const NAMES: [number, string][] = [[2, "p50"], [10, "p90"], [100, "p99"], [1000, "p99.9"], [10_000, "p99.99"], [100_000, "p99.999"]];

interface Point { q: number; ms: number; low: number; high: number }

function points(view: View, s: Series): Point[] {
  const c = s.curve;
  if (!c) return [];
  const all = c.ms.map((ms, i) => ({ q: view.quantiles[i], ms, low: c.low?.[i] ?? ms, high: c.high?.[i] ?? ms }));
  return all.filter((p): p is Point => p.ms !== null && p.ms > 0);
}

const near = (q: number, at: number) => Math.abs(q / at - 1) < 0.01;

export const latency: Chart = {
  title: "Latency by percentile",
  legend: true,
  note: (view, cell) =>
    "Latency counts from the moment a call was due. The axis stretches the tail: p99 to p99.9 is as wide as p90 to p99." +
    (seriesOf(view, cell).some((s) => s.curve?.low) ? " Bands show the range of the rounds." : "") +
    (seriesOf(view, cell).some((s) => s.lost) ? " > marks a lower bound: lost calls count as their deadline." : ""),
  draw(view, cell, width) {
    const all = seriesOf(view, cell).map((s) => ({ s, points: points(view, s) })).filter((a) => a.points.length > 0);
    if (all.length === 0) return [];
    const values = all.flatMap((a) => a.points.flatMap((p) => [p.low, p.high])).filter((v) => v > 0);
    const far = Math.max(...all.map((a) => a.points[a.points.length - 1].q));
    const log = Math.max(...values) / Math.min(...values) > 8;
    const range = paddedRange(values, 1.1);
    const ticks = log ? logTicks(range, 8) : 6;
    const marks: Plot.Markish[] = [];
    for (const { s, points } of all) {
      const of = armStyle(view.arms, view.baseline, s.arm);
      const name = `arm arm-${s.arm}`;
      if (s.curve?.low) marks.push(Plot.areaY(points, { x: "q", y1: "low", y2: "high", fill: of.color, fillOpacity: 0.1, className: `${name} band` }));
      marks.push(Plot.line(points, { x: "q", y: "ms", stroke: of.color, strokeWidth: of.width, strokeDasharray: of.dash, strokeLinejoin: "round", className: name }));
      const named = points.filter((p) => NAMES.some(([at]) => near(p.q, at)));
      const bounds = named.filter((p) => isBound(s, p.q));
      marks.push(Plot.text(bounds, { x: "q", y: "ms", dy: 12, text: (p: Point) => `> ${short(p.ms)}`, fill: of.color, className: `${name} bound` }));
      marks.push(Plot.dot(named, {
        x: "q", y: "ms", symbol: of.symbol, fill: of.color, stroke: "var(--paper)", strokeWidth: 1, r: 4, className: name,
        title: (p: Point) => `${view.arms[s.arm]}, ${NAMES.find(([at]) => near(p.q, at))?.[1]}: ${atLeast(s, p.q, short(p.ms))} ms`,
      }));
    }
    return [plot("Latency by percentile, one line for each arm; the table below has the numbers", {
      width, height: Math.max(260, Math.min(420, width * 0.5)), marginLeft: 48, marginRight: 16, marginTop: 24,
      x: { type: "log", domain: [1, Math.max(far, 10)], ticks: NAMES.map(([q]) => q).filter((q) => q <= far * 1.01), tickFormat: (q: number) => NAMES.find(([at]) => at === q)?.[1] ?? "", label: null, tickSize: 0 },
      y: { ...(log ? { type: "log", domain: range } : { type: "linear", zero: true, nice: true }), label: "ms", labelArrow: "none", tickFormat: tick, tickSize: 0, ticks },
      marks: [Plot.gridY({ ...grid, ticks }), Plot.gridX({ ...grid, ticks: NAMES.map(([q]) => q).filter((q) => q <= far * 1.01) }), ...marks],
    })];
  },
  table(view, cell) {
    const all = seriesOf(view, cell).map((s) => ({ s, points: points(view, s) }));
    const far = Math.max(...all.flatMap((a) => a.points.map((p) => p.q)));
    const named = NAMES.filter(([q]) => q <= far * 1.01);
    return {
      columns: [{ name: "arm" }, ...named.map(([, name]) => ({ name: `${name} ms`, number: true })), ...named.map(([, name]) => ({ name: `${name}, range of rounds`, number: true }))],
      rows: all.map(({ s, points }) => {
        const at = named.map(([q]) => points.find((p) => near(p.q, q)));
        return [view.arms[s.arm], ...at.map((p) => (p ? atLeast(s, p.q, short(p.ms)) : "–")), ...at.map((p) => (p && s.curve?.low ? atLeast(s, p.q, `${short(p.low)}–${short(p.high)}`) : "–"))];
      }),
    };
  },
};
