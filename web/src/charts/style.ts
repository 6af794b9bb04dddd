// What all charts have in common. Colours are CSS variables, so that a chart follows the
// page from light to dark; no chart says anything by colour alone.

import * as Plot from "@observablehq/plot";

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"] as const;
const COLORS = 8;

export interface Look {
  color: string;
  symbol: (typeof SYMBOLS)[number];
  dash: string;
  width: number;
}

// look is how an arm is drawn everywhere: the baseline in ink.
export function look(arms: string[], baseline: string, arm: number): Look {
  if (arms[arm] === baseline) return { color: "var(--ink)", symbol: "circle", dash: "", width: 2.25 };
  const base = arms.indexOf(baseline);
  const i = base >= 0 && arm > base ? arm - 1 : arm;
  return {
    color: `var(--c${i % COLORS})`,
    symbol: SYMBOLS[(i + 1) % SYMBOLS.length],
    dash: ["", "5 3", "1.5 3"][Math.floor(i / COLORS) % 3],
    width: 1.5,
  };
}

// plot draws detached and takes out the style element that the page's policy forbids: what
// it says stands in charts.css.
export function plot(label: string, options: Plot.PlotOptions): SVGSVGElement {
  const drawn = Plot.plot({ className: "plot", ariaLabel: label, style: { fontSize: "12px" }, ...options });
  for (const style of drawn.querySelectorAll("style")) style.remove();
  drawn.setAttribute("role", "img");
  return drawn as unknown as SVGSVGElement;
}

// grid are the faint lines behind a chart.
export const grid = { stroke: "var(--line)", strokeOpacity: 1 };

// swatch is an arm's line and symbol, for a legend.
export function swatch(of: Look): SVGSVGElement {
  const svg = plot("", {
    width: 28, height: 14, margin: 0, axis: null,
    x: { domain: [0, 28] }, y: { domain: [0, 14] },
    marks: [
      Plot.line([[0, 7], [28, 7]], { stroke: of.color, strokeWidth: of.width, strokeDasharray: of.dash }),
      Plot.dot([[14, 7]], { symbol: of.symbol, fill: of.color, r: 4 }),
    ],
  });
  svg.setAttribute("aria-hidden", "true");
  return svg;
}
