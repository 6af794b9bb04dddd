// The report of one run. The page already contains the texts and tables; this script draws
// the charts and adds buttons to the tables.

import { Figures } from "./figure";
import { element } from "./element";
import { chosen, remember } from "./state";
import { withTools } from "./table";
import { parseView } from "./view";

// contents links to the sections of the report. A link keeps the chosen view in the address.
function contents(): void {
  const links = [...document.querySelectorAll<HTMLElement>("main > section[id]")].map((s) => element("a", { href: `#${s.id}` }, s.querySelector("h2")?.textContent ?? s.id));
  if (links.length > 2) document.querySelector("main")?.before(element("nav", { class: "contents", "aria-label": "Sections" }, ...links));
  window.addEventListener("hashchange", () => location.hash.includes("=") || remember("section", location.hash.slice(1)));
}

function start(): void {
  contents();
  for (const table of document.querySelectorAll<HTMLTableElement>("main table")) {
    withTools(table, table.closest("section")?.querySelector("h2")?.textContent ?? "Table");
  }
  const figures = new Figures(document, parseView(document.getElementById("view")?.textContent ?? ""));
  const choice = document.querySelector<HTMLSelectElement>("#cell");
  if (choice) {
    if ([...choice.options].some((o) => o.value === chosen("cell"))) choice.value = chosen("cell")!;
    const show = () => {
      for (const section of document.querySelectorAll<HTMLElement>("[data-cell]")) section.hidden = section.dataset.cell !== choice.value;
      figures.show(Number(choice.value));
    };
    choice.parentElement!.hidden = false;
    choice.addEventListener("change", () => {
      remember("cell", choice.value === "0" ? "" : choice.value);
      show();
    });
    show();
  } else {
    figures.show(0);
  }
  document.getElementById(chosen("section") ?? "")?.scrollIntoView();
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
