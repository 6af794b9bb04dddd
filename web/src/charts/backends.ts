import * as Plot from "@observablehq/plot";
import { percent, tick } from "../format";
import { seriesOf, type Series, type View } from "../view";
import type { Chart } from "./chart";
import { smallMultiples } from "./multiples";
import { plot } from "./style";

const shown = (view: View, cell: number): Series[] => seriesOf(view, cell).filter((s) => (s.backends?.length ?? 0) > 1);

// fixed says whether the same backends ran during the whole load.
const fixed = (view: View, cell: number) => !seriesOf(view, cell).some((s) => s.timeline?.marks);

const total = (s: Series) => (s.backends ?? []).reduce((sum, b) => sum + b.calls, 0);

export const backends: Chart = {
  title: "Calls per backend",
  note: (view, cell) =>
    `The share of the calls that each backend answered in round ${[...new Set(shown(view, cell).map((s) => s.round))].join(", ")}. ${fixed(view, cell) ? "The dashed line is an equal share." : "Backends start and stop during the load, so there is no equal share."}`,
  draw(view, cell, width) {
    const all = shown(view, cell);
    const most = Math.max(...all.flatMap((s) => s.backends!.map((b) => b.calls / Math.max(total(s), 1))));
    return smallMultiples(all, width, 190, (s, w) => {
      const sum = Math.max(total(s), 1);
      const bars = s.backends!.map((b, i) => ({ n: i + 1, name: b.backend, share: b.calls / sum, calls: b.calls }));
      return {
        title: view.arms[s.arm],
        plots: [plot(`Calls per backend of ${view.arms[s.arm]}`, {
          width: w, height: 110, marginLeft: 46, marginRight: 4, marginTop: 10, marginBottom: 22,
          x: { type: "band", label: null, padding: 0.25, tickSize: 0, ticks: bars.length > 8 ? [1, bars.length] : undefined },
          y: { domain: [0, most], ticks: 3, tickFormat: (v: number) => `${Math.round(100 * v)} %`, label: null, tickSize: 0 },
          marks: [
            Plot.barY(bars, { x: "n", y: "share", fill: "var(--accent)", title: (b: (typeof bars)[0]) => `${b.name}: ${tick(b.calls)} calls, ${percent(b.share)}` }),
            Plot.ruleY(fixed(view, cell) ? [1 / bars.length] : [], { stroke: "var(--ink)", strokeDasharray: "3 3", strokeWidth: 1 }),
            Plot.ruleY([0], { stroke: "var(--line-strong)" }),
          ],
        })],
      };
    });
  },
  table: (view, cell) => ({
    columns: [{ name: "arm" }, { name: "backend" }, { name: "calls", number: true }, { name: "share", number: true }],
    rows: shown(view, cell).flatMap((s) => s.backends!.map((b) => [view.arms[s.arm], b.backend, b.calls.toLocaleString("en"), percent(b.calls / Math.max(total(s), 1))])),
  }),
};
