import * as Plot from "@observablehq/plot";
import { short } from "../format";
import { seriesOf, type View } from "../view";
import type { Chart } from "./chart";
import { smallMultiples } from "./multiples";
import { rowLayout } from "./rows";
import { plot } from "./style";

interface Panel {
  title: string;
  values: { arm: string; v: number }[];
}

// panels returns one panel for each party and each resource.
function panels(view: View, cell: number): Panel[] {
  const all = seriesOf(view, cell);
  const parties = [...new Set(all.flatMap((s) => (s.cost ?? []).map((c) => c.party)))];
  const read = (party: string, of: "cpu" | "mb") =>
    all.map((s) => ({ arm: view.arms[s.arm], v: s.cost?.find((c) => c.party === party)?.[of] ?? 0 }));
  return parties
    .flatMap((party) => [
      { title: `${party}, CPU µs per call`, values: read(party, "cpu") },
      { title: `${party}, peak memory MB`, values: read(party, "mb") },
    ])
    .filter((p) => p.values.some((row) => row.v > 0));
}

export const cost: Chart = {
  title: "CPU and memory",
  note: () => "CPU time per call and peak memory of the clients, servers and proxies. Each axis starts at 0.",
  draw: (view, cell, width) =>
    smallMultiples(panels(view, cell), width, 400, (p, w) => ({
      title: p.title,
      plots: [plot(p.title, {
        width: w, ...rowLayout(p.values.map((row) => row.arm), w, 8), marginRight: 52, marginTop: 4, marginBottom: 4,
        x: { axis: null, domain: [0, Math.max(...p.values.map((row) => row.v))] },
        marks: [
          Plot.barX(p.values, { y: "arm", x: "v", fill: "var(--accent)" }),
          Plot.text(p.values, { y: "arm", x: "v", text: (row: Panel["values"][0]) => (row.v > 0 ? short(row.v) : "–"), textAnchor: "start", dx: 5, fill: "var(--ink)" }),
        ],
      })],
    })),
  table(view, cell) {
    const all = panels(view, cell);
    return {
      columns: [{ name: "arm" }, ...all.map((p) => ({ name: p.title, number: true }))],
      rows: seriesOf(view, cell).map((s, i) => [view.arms[s.arm], ...all.map((p) => (p.values[i].v > 0 ? short(p.values[i].v) : "–"))]),
    };
  },
};
