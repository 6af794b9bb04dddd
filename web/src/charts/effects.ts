import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import type { Effect, View } from "../view";
import type { Chart } from "./chart";
import { smallMultiples } from "./multiples";
import { rowLayout } from "./rows";
import { grid, plot } from "./style";
import { logTicks } from "./ticks";

const shown = (view: View, cell: number): Effect[] => view.effects.filter((e) => e.cell === cell);

const STEPS = [["resolver_updated", "resolver updated"], ["first_call", "first call"], ["balanced_again", "balanced again"]] as const;

export const effects: Chart = {
  title: "After each event",
  note: () => "Milliseconds from the event until resolvers were updated (|), until a new backend received its first call (○) and until calls were balanced again (●), as medians of the rounds. The number on the right counts failed calls. Times that rpclab did not observe are left out.",
  draw(view, cell, width) {
    const all = shown(view, cell);
    const times = all.flatMap((e) => STEPS.map(([step]) => e[step])).filter((v): v is number => v !== null);
    if (times.length === 0 && all.every((e) => e.failed === 0)) return [];
    const domain = [Math.max(0.1, Math.min(10, ...times) / 1.3), Math.max(100, ...times) * 1.3];
    const ticks = logTicks(domain, 5);
    // Two runs may have other events, or the same at other times.
    const key = (e: Effect) => `${e.index} ${e.what}`;
    const events = [...new Set([...all].sort((a, b) => a.index - b.index).map(key))].map((event) => all.filter((e) => key(e) === event));
    return smallMultiples(events, width, 400, (mine, w) => {
      const title = `${mine[0].what}, at ${[...new Set(mine.map((e) => short(Math.round(e.at * 10) / 10)))].join(" or ")} s`;
      const y = (e: Effect) => view.arms[e.arm];
      const seen = (step: (typeof STEPS)[number][0]) => mine.filter((e) => e[step] !== null);
      return {
        title,
        plots: [plot(title, {
          width: w, ...rowLayout(mine.map(y), w), marginRight: 64, marginTop: 18, marginBottom: 22,
          x: { type: "log", domain, ticks, tickFormat: tick, label: null, tickSize: 0 },
          marks: [
            Plot.gridX({ ...grid, ticks }), Plot.ruleY(mine, { y, stroke: "var(--line)" }),
            Plot.dot(seen("balanced_again"), { y, x: "balanced_again", fill: "var(--accent)", r: 4.5 }),
            Plot.dot(seen("first_call"), { y, x: "first_call", fill: "var(--paper)", stroke: "var(--ink)", strokeWidth: 1.5, r: 3.5 }),
            Plot.tickX(seen("resolver_updated"), { y, x: "resolver_updated", stroke: "var(--ink)", strokeWidth: 2 }),
            Plot.text(["failed"], { frameAnchor: "top-right", dx: 58, dy: -15, textAnchor: "end", fill: "var(--quiet)" }),
            Plot.text(mine, { y, frameAnchor: "right", dx: 58, textAnchor: "end", text: (e: Effect) => e.failed.toLocaleString("en"), fill: (e: Effect) => (e.failed > 0 ? "var(--bad)" : "var(--quiet)") }),
          ],
        })],
      };
    });
  },
  table: (view, cell) => ({
    columns: [{ name: "event" }, { name: "arm" }, { name: "failed", number: true }, ...STEPS.map(([, name]) => ({ name: `${name} ms`, number: true }))],
    rows: shown(view, cell).sort((a, b) => a.index - b.index || a.arm - b.arm).map((e) =>
      [e.what, view.arms[e.arm], e.failed.toLocaleString("en"), ...STEPS.map(([step]) => (e[step] === null ? "–" : short(e[step])))]),
  }),
};
