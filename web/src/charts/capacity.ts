import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { seriesOf, type Series, type View } from "../view";
import type { Chart } from "./chart";
import { rowLayout } from "./rows";
import { grid, plot } from "./style";

type Found = Series & { capacity: NonNullable<Series["capacity"]> };

const shown = (view: View, cell: number): Found[] => seriesOf(view, cell).filter((s): s is Found => s.capacity !== undefined);

export const capacity: Chart = {
  title: "Capacity",
  note: () => "The highest rate at which the objective held, in calls per second: the median of the rounds, and their range.",
  draw(view, cell, width) {
    const all = shown(view, cell);
    if (all.length === 0) return [];
    const y = (s: Found) => view.arms[s.arm];
    return [plot("Capacity of each arm", {
      width, ...rowLayout(all.map(y), width), marginRight: 64, marginTop: 4, marginBottom: 26,
      x: { domain: [0, Math.max(...all.map((s) => Math.max(s.capacity.high, s.capacity.rate)))], tickFormat: tick, ticks: 5, label: null, tickSize: 0 },
      marks: [
        Plot.gridX({ ...grid, ticks: 5 }),
        Plot.ruleY(all, { y, x1: 0, x2: (s: Found) => s.capacity.rate, stroke: "var(--line-strong)" }),
        Plot.link(all.filter((s) => s.capacity.low > 0), { y, x1: (s: Found) => s.capacity.low, x2: (s: Found) => s.capacity.high, stroke: "var(--accent)", strokeOpacity: 0.4, strokeWidth: 7 }),
        Plot.dot(all, { y, x: (s: Found) => s.capacity.rate, fill: "var(--accent)", r: 5 }),
        Plot.text(all, { y, frameAnchor: "right", dx: 58, textAnchor: "end", text: (s: Found) => short(s.capacity.rate), fill: "var(--ink)" }),
      ],
    })];
  },
  table: (view, cell) => ({
    columns: [{ name: "arm" }, { name: "calls/s", number: true }, { name: "rounds", number: true }],
    rows: shown(view, cell).map((s) => [view.arms[s.arm], short(s.capacity.rate), `${short(s.capacity.low)}–${short(s.capacity.high)}`]),
  }),
};
