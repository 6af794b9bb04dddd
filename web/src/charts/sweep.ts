import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { atLeast, isBound, type Series, type View } from "../view";
import type { Chart } from "./chart";
import { smallMultiples } from "./multiples";
import { grid, armStyle, plot } from "./style";
import { logTicks, paddedRange } from "./ticks";

// With each metric, the q of its percentile: one in q calls exceeds it. 0: it is no percentile.
const METRICS = [["p50", "p50, ms", 2], ["p99", "p99, ms", 100], ["rate", "answered/s", 0]] as const;

export const sweep: Chart = {
  title: "Metrics in each cell",
  note: (view) => `Each metric at every value of ${view.cells[0].name.split(" = ")[0]}.`,
  legend: true,
  allCells: true,
  draw(view, _, width) {
    const numbers = view.cells.every((c) => c.x !== undefined);
    const x = (s: Series) => (numbers ? view.cells[s.cell].x! : view.cells[s.cell].name);
    const at = view.cells.map((c) => c.x ?? 0).filter((v) => v > 0);
    const wide = numbers && at.length === view.cells.length && Math.max(...at) / Math.min(...at) > 8;
    return smallMultiples([...METRICS], width, 280, ([metric, title, q], w) => {
      const all = view.series.filter((s) => s[metric] > 0);
      const values = all.map((s) => s[metric]);
      const log = Math.max(...values) / Math.min(...values) > 20;
      const range = paddedRange(values, 1.15);
      const ticks = log ? logTicks(range, 5) : 4;
      const marks: Plot.Markish[] = [];
      view.arms.forEach((_, arm) => {
        const of = armStyle(view.arms, view.baseline, arm);
        const mine = all.filter((s) => s.arm === arm).sort((a, b) => a.cell - b.cell);
        const className = `arm arm-${arm}`;
        marks.push(
          Plot.line(mine, { x, y: metric, stroke: of.color, strokeWidth: of.width, strokeDasharray: of.dash, className }),
          Plot.dot(mine, { x, y: metric, symbol: of.symbol, fill: of.color, stroke: "var(--paper)", r: 4, className, title: (s: Series) => `${view.arms[arm]}, ${view.cells[s.cell].name}: ${atLeast(s, q, short(s[metric]))}` }),
          Plot.text(mine.filter((s) => isBound(s, q)), { x, y: metric, dy: 12, text: (s: Series) => `> ${short(s[metric])}`, fill: of.color, className: `${className} bound` }),
        );
      });
      return {
        title,
        plots: [plot(`${title} in each cell, one line for each arm`, {
          width: w, height: 220, marginLeft: 48, marginRight: 16, marginTop: 8, marginBottom: 24,
          x: numbers ? { type: wide ? "log" : "linear", ticks: at.length <= 6 ? at : 4, tickFormat: tick, label: null, tickSize: 0 }
            : { type: "point", domain: view.cells.map((c) => c.name), ticks: view.cells.length > 4 ? [] : undefined, label: null, tickSize: 0 },
          y: { ...(log ? { type: "log", domain: range } : { type: "linear", zero: true, nice: true }), ticks, tickFormat: tick, label: null, tickSize: 0 },
          marks: [Plot.gridY({ ...grid, ticks }), ...marks],
        })],
      };
    });
  },
  table: (view: View) => ({
    columns: [{ name: "arm" }, { name: "cell" }, ...METRICS.map(([, name]) => ({ name, number: true }))],
    rows: view.series.map((s) => [view.arms[s.arm], view.cells[s.cell].name, ...METRICS.map(([m, , q]) => (s[m] > 0 ? atLeast(s, q, short(s[m])) : "–"))]),
  }),
};
