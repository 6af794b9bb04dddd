// Zoom of the horizontal axis of a figure: by dragging over a chart, or with the keys + − ← → and 0.

import { element } from "./element";
import { scaleOf } from "./charts/style";

export type Range = [number, number];

const factor = 1.6; // of one key press

// makeZoomable lets the reader zoom the charts in a picture. change draws them again; undefined is the whole range.
export function makeZoomable(picture: HTMLElement, zoom: Range | undefined, change: (zoom?: Range) => void): void {
  const first = [...picture.querySelectorAll<SVGSVGElement>("svg.plot")].find((svg) => scaleOf(svg));
  if (!first) return;
  picture.tabIndex = 0;
  picture.setAttribute("role", "group");
  picture.setAttribute("aria-label", "Drag over the chart to zoom, or press + and −, ← and →; 0 shows everything");
  const scale = scaleOf(first)!;
  const log = scale.type === "log";
  const [from, to] = scale.domain as Range;
  picture.addEventListener("keydown", (event) => {
    const [low, high] = log ? [Math.log(from), Math.log(to)] : [from, to];
    const width = high - low, middle = (low + high) / 2;
    const moved = { "+": [middle - width / factor / 2, middle + width / factor / 2], "=": [middle - width / factor / 2, middle + width / factor / 2],
      "-": zoom && [middle - (width * factor) / 2, middle + (width * factor) / 2], ArrowLeft: zoom && [low - width / 4, high - width / 4], ArrowRight: zoom && [low + width / 4, high + width / 4] }[event.key];
    if (event.key === "0" || event.key === "Escape") change();
    else if (moved) change((log ? moved.map(Math.exp) : moved) as Range);
    else return;
    event.preventDefault();
  });
  picture.addEventListener("pointerdown", (event) => {
    const svg = (event.target as Element).closest<SVGSVGElement>("svg.plot");
    if (svg && event.button === 0 && scaleOf(svg)) drag(svg, event, change);
  });
  if (zoom) {
    const reset = element("button", { type: "button", class: "copy reset" }, "Show everything");
    reset.addEventListener("click", () => change());
    picture.after(reset);
  }
}

// drag draws the selection until the pointer is released.
function drag(svg: SVGSVGElement, start: PointerEvent, change: (zoom?: Range) => void): void {
  const scale = scaleOf(svg)!;
  const [left, right] = scale.range as Range;
  const box = svg.viewBox.baseVal;
  const at = (event: PointerEvent) => {
    const shown = svg.getBoundingClientRect();
    return Math.max(left, Math.min(right, ((event.clientX - shown.left) * box.width) / shown.width));
  };
  const begin = at(start);
  const selection = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  selection.setAttribute("class", "selection");
  selection.setAttribute("height", `${box.height}`);
  svg.append(selection);
  const move = (event: PointerEvent) => {
    selection.setAttribute("x", `${Math.min(begin, at(event))}`);
    selection.setAttribute("width", `${Math.abs(at(event) - begin)}`);
  };
  const end = (event: PointerEvent) => {
    for (const [name, handler] of handlers) window.removeEventListener(name, handler);
    selection.remove();
    const places = [begin, at(event)].sort((a, b) => a - b);
    if (event.type === "pointerup" && places[1] - places[0] > 4) change(places.map((x) => scale.invert!(x)) as Range); // else a click
  };
  const handlers = [["pointermove", move], ["pointerup", end], ["pointercancel", end]] as const;
  for (const [name, handler] of handlers) window.addEventListener(name, handler);
}

// parseZoom reads a range of an address.
export function parseZoom(text: string | null | undefined): Range | undefined {
  const [from, to] = (text ?? "").split("~").map(Number);
  return from < to ? [from, to] : undefined;
}

export const zoomText = (zoom?: Range): string => (zoom ? zoom.map((v) => String(+v.toPrecision(5))).join("~") : "");
