// The report of one run: its texts and tables are in the page already; this draws the
// pictures and gives the tables their buttons.

import { Figures } from "./figure";
import { dress } from "./table";
import { read } from "./view";

function start(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("main table")) {
    dress(table, table.closest("section")?.querySelector("h2")?.textContent ?? "Table");
  }
  const figures = new Figures(document, read(document.getElementById("view")?.textContent ?? ""));
  const choice = document.querySelector<HTMLSelectElement>("#cell");
  if (choice) {
    const show = () => {
      for (const part of document.querySelectorAll<HTMLElement>("[data-cell]")) part.hidden = part.dataset.cell !== choice.value;
      figures.show(Number(choice.value));
    };
    choice.parentElement!.hidden = false;
    choice.addEventListener("change", show);
    show();
  } else {
    figures.show(0);
  }
  document.documentElement.dataset.drawn = "true";
  performance.mark("drawn"); // how long a large report takes is measured
}

try {
  start();
} catch (error) {
  const place = document.getElementById("failed")!;
  place.textContent = error instanceof Error ? error.message : String(error);
  place.hidden = false;
}
