// A figure: title, legend, picture, and the same numbers in a table.

import { charts } from "./charts/index";
import { look, swatch } from "./charts/style";
import { element } from "./element";
import { dress, fill } from "./table";
import { here, type View } from "./view";

// Figures are all of a page, drawn by the first show, and again when the width changes.
export class Figures {
  private cell = 0;
  private width = 0;

  constructor(private root: ParentNode, private view: View) {
    const again = new ResizeObserver(() => {
      const width = document.documentElement.clientWidth;
      if (this.width > 0 && width !== this.width) this.draw();
    });
    again.observe(document.documentElement);
  }

  // show draws a cell, of newer data where there are some.
  show(cell: number, view = this.view): void {
    this.cell = cell;
    this.view = view;
    this.draw();
  }

  private draw(): void {
    this.width = document.documentElement.clientWidth;
    for (const place of this.root.querySelectorAll<HTMLElement>("figure[data-chart]")) figure(place, this.view, this.cell);
  }
}

function figure(place: HTMLElement, view: View, cell: number): void {
  const chart = charts[place.dataset.chart ?? ""];
  const open = place.querySelector("details")?.open ?? false;
  const drawn = chart?.draw(view, cell, place.clientWidth) ?? [];
  place.hidden = drawn.length === 0;
  if (!chart || drawn.length === 0) return place.replaceChildren();

  const where = view.cells.length > 1 ? view.cells[cell]?.name : "";
  const caption = element("figcaption", {}, element("strong", {}, chart.title + (where && !chart.every ? `, ${where}` : "")), element("span", {}, chart.note(view, cell)));
  const picture = element("div", { class: "picture" }, ...drawn);
  const numbers = element("details", { class: "numbers" }, element("summary", {}, "These numbers in a table"));
  // The table is made when somebody asks for it.
  const make = () => numbers.querySelector("table") ?? numbers.append(dress(fill(chart.table(view, cell)), chart.title));
  numbers.addEventListener("toggle", make);
  numbers.open = open;
  // A page that has the numbers in a table of its own says so.
  const tables = place.dataset.table === "beside" ? [] : [numbers];
  place.replaceChildren(caption, ...(chart.legend ? [legend(view, cell, picture)] : []), picture, ...tables);
}

// legend names the arms. One that is pressed, pointed at or in focus stands out.
function legend(view: View, cell: number, picture: HTMLElement): HTMLElement {
  let pressed = -1;
  const light = (arm: number) => {
    picture.classList.toggle("lit", arm >= 0);
    for (const mark of picture.querySelectorAll(".arm")) mark.classList.toggle("on", mark.classList.contains(`arm-${arm}`));
  };
  const list = element("ul", { class: "legend", "aria-label": "Arms; press one to make it stand out" });
  for (const { arm } of here(view, cell)) {
    const button = element("button", { type: "button", "aria-pressed": "false" }, swatch(look(view.arms, view.baseline, arm)), view.arms[arm]);
    button.addEventListener("click", () => {
      pressed = pressed === arm ? -1 : arm;
      for (const other of list.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && pressed === arm));
      light(pressed);
    });
    for (const [on, off] of [["pointerenter", "pointerleave"], ["focus", "blur"]]) {
      button.addEventListener(on, () => light(arm));
      button.addEventListener(off, () => light(pressed));
    }
    list.append(element("li", {}, button));
  }
  return list;
}
