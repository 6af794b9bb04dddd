import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import type { Effect, View } from "../view";
import type { Chart } from "./chart";
import { multiple } from "./multiples";
import { rows } from "./rows";
import { grid, plot } from "./style";
import { logTicks } from "./ticks";

const shown = (view: View, cell: number): Effect[] => view.effects.filter((e) => e.cell === cell);

const STEPS = [["told", "told"], ["first", "first call"], ["even", "even again"]] as const;

export const effects: Chart = {
  title: "After each event",
  note: () => "Milliseconds until clients were told (|), until a new backend had its first call (○) and until calls were even again (●); on the right the calls that failed. Medians of the rounds; what was not seen is not there.",
  draw(view, cell, width) {
    const all = shown(view, cell);
    const times = all.flatMap((e) => STEPS.map(([step]) => e[step])).filter((v): v is number => v !== null);
    if (times.length === 0 && all.every((e) => e.failed === 0)) return [];
    const domain = [Math.max(0.1, Math.min(10, ...times) / 1.3), Math.max(100, ...times) * 1.3];
    const ticks = logTicks(domain, 5);
    const places = [...new Set(all.map((e) => e.place))].sort((a, b) => a - b);
    return multiple(places, width, 400, (place, w) => {
      const mine = all.filter((e) => e.place === place);
      const title = `${mine[0].what}, after ${short(mine[0].at)} s`;
      const y = (e: Effect) => view.arms[e.arm];
      const seen = (step: "told" | "first" | "even") => mine.filter((e) => e[step] !== null);
      return {
        title,
        plots: [plot(title, {
          width: w, ...rows(mine.map(y), w), marginRight: 64, marginTop: 18, marginBottom: 22,
          x: { type: "log", domain, ticks, tickFormat: tick, label: null, tickSize: 0 },
          marks: [
            Plot.gridX({ ...grid, ticks }), Plot.ruleY(mine, { y, stroke: "var(--line)" }),
            Plot.dot(seen("even"), { y, x: "even", fill: "var(--accent)", r: 4.5 }),
            Plot.dot(seen("first"), { y, x: "first", fill: "var(--paper)", stroke: "var(--ink)", strokeWidth: 1.5, r: 3.5 }),
            Plot.tickX(seen("told"), { y, x: "told", stroke: "var(--ink)", strokeWidth: 2 }),
            Plot.text(["failed"], { frameAnchor: "top-right", dx: 58, dy: -15, textAnchor: "end", fill: "var(--quiet)" }),
            Plot.text(mine, { y, frameAnchor: "right", dx: 58, textAnchor: "end", text: (e: Effect) => e.failed.toLocaleString("en"), fill: (e: Effect) => (e.failed > 0 ? "var(--bad)" : "var(--quiet)") }),
          ],
        })],
      };
    });
  },
  table: (view, cell) => ({
    columns: [{ name: "event" }, { name: "arm" }, { name: "failed", number: true }, ...STEPS.map(([, name]) => ({ name: `${name} ms`, number: true }))],
    rows: shown(view, cell).sort((a, b) => a.place - b.place || a.arm - b.arm).map((e) =>
      [e.what, view.arms[e.arm], e.failed.toLocaleString("en"), ...STEPS.map(([step]) => (e[step] === null ? "–" : short(e[step])))]),
  }),
};
