// Shared style of the charts. Colours are CSS variables, so that a chart follows the light
// and dark themes. No chart conveys information by colour alone.

import * as Plot from "@observablehq/plot";

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"] as const;
const COLORS = 8;

export interface ArmStyle {
  color: string;
  symbol: (typeof SYMBOLS)[number];
  dash: string;
  width: number;
}

// armStyle returns the style of an arm, the same in every chart. The baseline has the colour of the text.
export function armStyle(arms: string[], baseline: string, arm: number): ArmStyle {
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

// zoomed is the range of the horizontal axis of the charts that are being drawn; undefined: everything.
let zoomed: [number, number] | undefined;

// drawZoomed draws charts with a range of their horizontal axis.
export function drawZoomed<T>(range: [number, number] | undefined, draw: () => T): T {
  zoomed = range;
  try {
    return draw();
  } finally {
    zoomed = undefined;
  }
}

const scales = new WeakMap<SVGSVGElement, Plot.Scale>();

// scaleOf returns the horizontal scale of a chart; undefined: it cannot be zoomed.
export const scaleOf = (svg: SVGSVGElement): Plot.Scale | undefined => scales.get(svg);

// plot removes the style element of the drawing, which the policy of the page forbids;
// charts.css has the same rules.
export function plot(label: string, options: Plot.PlotOptions): SVGSVGElement {
  const drawn = Plot.plot({ className: "plot", ariaLabel: label, style: { fontSize: "12px" }, ...options, ...(zoomed && options.x ? { clip: true, x: { ...options.x, domain: zoomed } } : {}) });
  for (const style of drawn.querySelectorAll("style")) style.remove();
  drawn.setAttribute("role", "img");
  const x = options.x && options.axis !== null ? drawn.scale("x") : undefined;
  if (x?.invert && (options.x as Plot.ScaleOptions).axis !== null) scales.set(drawn as unknown as SVGSVGElement, x);
  return drawn as unknown as SVGSVGElement;
}

// grid is the style of the lines behind a chart.
export const grid = { stroke: "var(--line)", strokeOpacity: 1 };

// swatch draws the line and symbol of an arm for a legend.
export function swatch(style: ArmStyle): SVGSVGElement {
  const svg = plot("", {
    width: 28, height: 14, margin: 0, axis: null,
    x: { domain: [0, 28] }, y: { domain: [0, 14] },
    marks: [
      Plot.line([[0, 7], [28, 7]], { stroke: style.color, strokeWidth: style.width, strokeDasharray: style.dash }),
      Plot.dot([[14, 7]], { symbol: style.symbol, fill: style.color, r: 4 }),
    ],
  });
  svg.setAttribute("aria-hidden", "true");
  return svg;
}
