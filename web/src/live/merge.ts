// Two runs in the same charts, with the same axes: each arm once for A and once for B.

import type { Series, View } from "../view";

export function merge(a: View, b: View): View {
  const names = [...new Set([...a.arms, ...b.arms])];
  const cells = [...a.cells, ...b.cells.filter((c) => !a.cells.some((known) => known.name === c.name))];
  const quantiles = a.quantiles.length < b.quantiles.length ? a.quantiles : b.quantiles; // the finer ones contain the coarser
  const arms = names.flatMap((name) => [[name, a, "A"], [name, b, "B"]] as const).filter(([name, view]) => view.arms.includes(name)).map(([name, , run]) => `${name}, ${run}`);
  const place = (view: View, run: string) => ({
    arm: (i: number) => arms.indexOf(`${view.arms[i]}, ${run}`),
    cell: (i: number) => cells.findIndex((c) => c.name === view.cells[i].name),
  });
  const [inA, inB] = [place(a, "A"), place(b, "B")];
  const moved = <T extends { arm: number; cell: number }>(all: T[], to: typeof inA): T[] => all.map((x) => ({ ...x, arm: to.arm(x.arm), cell: to.cell(x.cell) }));
  return {
    ...a, baseline: "", arms, cells, quantiles,
    series: [...moved(a.series.map((s) => at(s, a, quantiles)), inA), ...moved(b.series.map((s) => at(s, b, quantiles)), inB)],
    effects: [...moved(a.effects, inA), ...moved(b.effects, inB)],
  };
}

// at keeps the values of a curve at some of its quantiles.
function at(s: Series, view: View, quantiles: number[]): Series {
  if (!s.curve || view.quantiles.length === quantiles.length) return s;
  const pick = <T>(values?: T[]) => values?.filter((_, i) => quantiles.includes(view.quantiles[i]));
  return { ...s, curve: { ms: pick(s.curve.ms)!, low: pick(s.curve.low), high: pick(s.curve.high) } };
}
