import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { here, type Series, type View } from "../view";
import type { Chart } from "./chart";
import { rows } from "./rows";
import { grid, plot } from "./style";
import { around, logTicks } from "./ticks";

type Both = Series & { published: number };

const shown = (view: View, cell: number): Both[] => here(view, cell).filter((s): s is Both => (s.published ?? 0) > 0 && s.elapsed > 0);

export const published: Chart = {
  title: "Published and measured",
  note: () => "Elapsed milliseconds: as the study printed them (○), on other hardware, and in this run (●). Equal steps are equal ratios.",
  draw(view, cell, width) {
    const all = shown(view, cell);
    if (all.length === 0) return [];
    const values = all.flatMap((s) => [s.published, s.elapsed]);
    const domain = around(values, 1.25);
    const ticks = logTicks(domain);
    const y = (s: Both) => view.arms[s.arm];
    return [plot("Published and measured elapsed time of each arm", {
      width, ...rows(all.map(y), width), marginRight: 20, marginTop: 4, marginBottom: 26,
      x: { type: "log", domain, tickFormat: tick, ticks, label: null, tickSize: 0 },
      marks: [
        Plot.gridX({ ...grid, ticks }),
        Plot.link(all, { y1: y, y2: y, x1: "published", x2: "elapsed", stroke: "var(--line-strong)" }),
        Plot.dot(all, { y, x: "published", fill: "var(--paper)", stroke: "var(--ink)", strokeWidth: 1.5, r: 5 }),
        Plot.dot(all, { y, x: "elapsed", fill: "var(--accent)", r: 5 }),
      ],
    })];
  },
  table: (view, cell) => ({
    columns: [{ name: "arm" }, { name: "published ms", number: true }, { name: "measured ms", number: true }],
    rows: shown(view, cell).map((s) => [view.arms[s.arm], short(s.published), short(s.elapsed)]),
  }),
};
