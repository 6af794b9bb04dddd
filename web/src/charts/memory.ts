import * as Plot from "@observablehq/plot";
import { short, tick } from "../format";
import { seriesOf, type Series, type View } from "../view";
import type { Chart } from "./chart";
import { grid, armStyle, plot } from "./style";

type Seen = Series & { memory: NonNullable<Series["memory"]> };

const shown = (view: View, cell: number): Seen[] => seriesOf(view, cell).filter((s): s is Seen => s.memory !== undefined);

const points = (s: Seen) => s.memory.mb.map((mb, i) => ({ t: (i * s.memory.step) / 1000, mb }));

export const memory: Chart = {
  title: "Memory of the servers over time",
  legend: true,
  note: (view, cell) => `Resident memory of all servers of an arm together, in round ${[...new Set(shown(view, cell).map((s) => s.memory.round))].join(", ")}.`,
  draw(view, cell, width) {
    const all = shown(view, cell);
    if (all.length === 0) return [];
    return [plot("Memory of the servers over time, one line for each arm; the table below has the numbers", {
      width, height: Math.max(220, Math.min(340, width * 0.4)), marginLeft: 48, marginRight: 16, marginTop: 24, marginBottom: 24,
      x: { label: null, tickFormat: (v: number) => `${v} s`, ticks: 5, tickSize: 0 },
      y: { zero: true, nice: true, label: "MB", labelArrow: "none", tickFormat: tick, ticks: 5, tickSize: 0 },
      marks: [
        Plot.gridY({ ...grid, ticks: 5 }),
        ...all.flatMap((s) => {
          const of = armStyle(view.arms, view.baseline, s.arm);
          const className = `arm arm-${s.arm}`;
          const last = points(s).slice(-1);
          return [
            Plot.line(points(s), { x: "t", y: "mb", stroke: of.color, strokeWidth: of.width, strokeDasharray: of.dash, className }),
            Plot.dot(last, { x: "t", y: "mb", symbol: of.symbol, fill: of.color, stroke: "var(--paper)", r: 4, className, title: () => `${view.arms[s.arm]}, at the end: ${short(s.memory.end)} MB` }),
          ];
        }),
      ],
    })];
  },
  table: (view, cell) => ({
    columns: [{ name: "arm" }, { name: "start, MB", number: true }, { name: "end, MB", number: true }, { name: "maximum, MB", number: true }],
    rows: shown(view, cell).map((s) => [view.arms[s.arm], short(s.memory.start), short(s.memory.end), short(Math.max(...s.memory.mb))]),
  }),
};
