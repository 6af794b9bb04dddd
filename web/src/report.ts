// The report of one run. The page already contains the texts and tables; this script draws
// the charts and adds buttons to the tables.

import { Figures } from "./figure";
import { withTools } from "./table";
import { parseView } from "./view";

function start(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("main table")) {
    withTools(table, table.closest("section")?.querySelector("h2")?.textContent ?? "Table");
  }
  const figures = new Figures(document, parseView(document.getElementById("view")?.textContent ?? ""));
  const choice = document.querySelector<HTMLSelectElement>("#cell");
  if (choice) {
    const show = () => {
      for (const section of document.querySelectorAll<HTMLElement>("[data-cell]")) section.hidden = section.dataset.cell !== choice.value;
      figures.show(Number(choice.value));
    };
    choice.parentElement!.hidden = false;
    choice.addEventListener("change", show);
    show();
  } else {
    figures.show(0);
  }
  document.documentElement.dataset.drawn = "true";
  performance.mark("drawn"); // a benchmark reads it
}

try {
  start();
} catch (error) {
  const message = document.getElementById("failed")!;
  message.textContent = error instanceof Error ? error.message : String(error);
  message.hidden = false;
}
