// The layout of charts that have one row for each arm, with its name on the left.

import type * as Plot from "@observablehq/plot";

export interface RowLayout {
  height: number;
  marginLeft: number;
  y: Plot.ScaleOptions;
}

const ROW = 22;
const CHARACTER = 6.8; // average width in the font of the page at 12px

export function rowLayout(names: string[], width: number, axes = 40): RowLayout {
  const most = Math.floor((width * 0.42) / CHARACTER);
  const room = Math.min(most, Math.max(...names.map((n) => n.length)));
  return {
    height: names.length * ROW + axes,
    marginLeft: Math.ceil(room * CHARACTER) + 10,
    y: { type: "band", domain: names, label: null, tickSize: 0, padding: 0.3, tickFormat: (name: string) => shorten(name, most) },
  };
}

// shorten cuts the middle out of a name: names often differ only at the end.
function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}
