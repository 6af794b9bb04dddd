// A figure: title, legend, chart, and the same numbers in a table.

import { charts } from "./charts/index";
import { armStyle, drawZoomed, swatch } from "./charts/style";
import { element } from "./element";
import { chosen, remember } from "./state";
import { buildTable, withTools } from "./table";
import { seriesOf, type View } from "./view";
import { makeZoomable, parseZoom, zoomText } from "./zoom";

// Figures draws every figure of a page, and draws them again when the width changes.
export class Figures {
  private cell = 0;
  private width = 0;

  constructor(private root: ParentNode, private view: View) {
    const observer = new ResizeObserver(() => {
      const width = document.documentElement.clientWidth;
      if (this.width > 0 && width !== this.width) this.draw();
    });
    observer.observe(document.documentElement);
  }

  // show draws one cell, from newer data if given.
  show(cell: number, view = this.view): void {
    this.cell = cell;
    this.view = view;
    this.draw();
  }

  private draw(): void {
    this.width = document.documentElement.clientWidth;
    for (const container of this.root.querySelectorAll<HTMLElement>("figure[data-chart]")) drawFigure(container, this.view, this.cell);
  }
}

// A figure narrower than this many pixels has no room for the names of arms next to the bars. Tools
// that capture a whole page pass through such widths.
const NARROWEST = 160;

function drawFigure(container: HTMLElement, view: View, cell: number): void {
  const chart = charts[container.dataset.chart ?? ""];
  const open = container.querySelector("details")?.open ?? false;
  const hidden = container.hidden;
  container.hidden = false; // a hidden figure has no width
  if (container.clientWidth < NARROWEST) {
    container.hidden = hidden;
    return;
  }
  const key = `zoom.${container.dataset.chart}`;
  const zoom = parseZoom(chosen(key));
  const drawn = drawZoomed(zoom, () => chart?.draw(view, cell, container.clientWidth) ?? []);
  container.hidden = drawn.length === 0;
  if (!chart || drawn.length === 0) return container.replaceChildren();

  const cellName = view.cells.length > 1 ? view.cells[cell]?.name : "";
  const caption = element("figcaption", {}, element("strong", {}, chart.title + (cellName && !chart.allCells ? `, ${cellName}` : "")), element("span", {}, chart.note(view, cell)));
  const picture = element("div", { class: "picture" }, ...drawn);
  const numbers = element("details", { class: "numbers" }, element("summary", {}, "Show the numbers in a table"));
  // The table is built when the reader opens it.
  const build = () => numbers.querySelector("table") ?? numbers.append(withTools(buildTable(chart.table(view, cell)), chart.title));
  numbers.addEventListener("toggle", build);
  numbers.open = open;
  // The page may show the same numbers in a table of its own.
  const tables = container.dataset.table === "own" ? [] : [numbers];
  container.replaceChildren(caption, ...(chart.legend ? [legend(view, cell, picture)] : []), picture, ...tables);
  makeZoomable(picture, zoom, (range) => {
    const focused = picture.contains(document.activeElement) || document.activeElement === container.querySelector(".reset");
    remember(key, zoomText(range));
    drawFigure(container, view, cell);
    if (focused) container.querySelector<HTMLElement>(".picture")?.focus();
  });
}

// legend names the arms. It highlights the arm that is pressed, hovered or focused.
function legend(view: View, cell: number, picture: HTMLElement): HTMLElement {
  let pressed = -1;
  const highlight = (arm: number) => {
    picture.classList.toggle("highlighting", arm >= 0);
    for (const mark of picture.querySelectorAll(".arm")) mark.classList.toggle("highlighted", mark.classList.contains(`arm-${arm}`));
  };
  const list = element("ul", { class: "legend", "aria-label": "Arms; press one to highlight it" });
  for (const { arm } of seriesOf(view, cell)) {
    const button = element("button", { type: "button", "aria-pressed": "false" }, swatch(armStyle(view.arms, view.baseline, arm)), view.arms[arm]);
    button.addEventListener("click", () => {
      pressed = pressed === arm ? -1 : arm;
      for (const other of list.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && pressed === arm));
      highlight(pressed);
    });
    for (const [on, off] of [["pointerenter", "pointerleave"], ["focus", "blur"]]) {
      button.addEventListener(on, () => highlight(arm));
      button.addEventListener(off, () => highlight(pressed));
    }
    list.append(element("li", {}, button));
  }
  return list;
}
