import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { seriesOf, type View } from "../view";
import type { Chart } from "./chart";
import { smallMultiples } from "./multiples";
import { rowLayout } from "./rows";
import { grid, plot } from "./style";
import { logTicks, paddedRange } from "./ticks";

interface Comparison { arm: string; metric: string; published: number; measured: number; bound?: boolean }

const shown = (view: View, cell: number): Comparison[] => seriesOf(view, cell).flatMap((s) => (s.published ?? []).map((b) => ({ arm: view.arms[s.arm], ...b })));

export const published: Chart = {
  title: "Published and measured",
  note: (view) => "The value that the study published (○), measured on other hardware, and the value of this run (●). The axis is logarithmic." +
    (view.series.some((s) => s.published?.some((b) => b.bound)) ? " >: a lower bound, since the percentile is that of lost calls." : ""),
  draw(view, cell, width) {
    const all = shown(view, cell);
    return smallMultiples([...new Set(all.map((b) => b.metric))], width, 400, (metric, w) => {
      const mine = all.filter((b) => b.metric === metric);
      const domain = paddedRange(mine.flatMap((b) => [b.published, b.measured]), 1.25);
      const ticks = logTicks(domain, 5);
      return {
        title: metric,
        plots: [plot(`Published and measured: ${metric}`, {
          width: w, ...rowLayout(mine.map((b) => b.arm), w), marginRight: 20, marginTop: 4, marginBottom: 26,
          x: { type: "log", domain, tickFormat: tick, ticks, label: null, tickSize: 0 },
          marks: [
            Plot.gridX({ ...grid, ticks }),
            Plot.link(mine, { y: "arm", x1: "published", x2: "measured", stroke: "var(--line-strong)" }),
            Plot.dot(mine, { y: "arm", x: "published", fill: "var(--paper)", stroke: "var(--ink)", strokeWidth: 1.5, r: 5 }),
            Plot.dot(mine, { y: "arm", x: "measured", fill: "var(--accent)", r: 5 }),
            Plot.text(mine.filter((b) => b.bound), { y: "arm", x: "measured", dy: 14, text: (b: Comparison) => `> ${short(b.measured)}`, fill: "var(--ink)", className: "bound" }),
          ],
        })],
      };
    });
  },
  table: (view, cell) => ({
    columns: [{ name: "arm" }, { name: "metric" }, { name: "published", number: true }, { name: "measured", number: true }],
    rows: shown(view, cell).map((b) => [b.arm, b.metric, short(b.published), `${b.bound ? "> " : ""}${short(b.measured)}`]),
  }),
};
