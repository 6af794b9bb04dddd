// What charts with a row for each arm share: room for the names on the left.

import type * as Plot from "@observablehq/plot";

export interface Rows {
  height: number;
  marginLeft: number;
  y: Plot.ScaleOptions;
}

const ROW = 22;
const CHARACTER = 6.8; // of the page's font at 12px, more or less

export function rows(names: string[], width: number, axes = 40): Rows {
  const most = Math.floor((width * 0.42) / CHARACTER);
  const room = Math.min(most, Math.max(...names.map((n) => n.length)));
  return {
    height: names.length * ROW + axes,
    marginLeft: Math.ceil(room * CHARACTER) + 10,
    y: { type: "band", domain: names, label: null, tickSize: 0, padding: 0.3, tickFormat: (name: string) => cut(name, most) },
  };
}

// cut shortens in the middle: names that differ often do so at an end.
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}
