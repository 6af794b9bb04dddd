// Tables that the reader can sort by column and copy as CSV.

import type { Table } from "./charts/chart";
import { element } from "./element";

// buildTable creates a table of a chart's numbers.
export function buildTable(data: Table): HTMLTableElement {
  const kind = (i: number): Record<string, string> => (data.columns[i]?.number ? { class: "n" } : {});
  return element("table", {},
    element("thead", {}, element("tr", {}, ...data.columns.map((c, i) => element("th", { scope: "col", ...kind(i) }, c.name)))),
    element("tbody", {}, ...data.rows.map((row) => element("tr", {}, ...row.map((v, i) => (i === 0 ? element("th", { scope: "row" }, String(v)) : element("td", kind(i), String(v))))))));
}

// withTools adds buttons to a table and puts it in a box that scrolls when it is too wide.
export function withTools(table: HTMLTableElement, name: string): HTMLElement {
  const old = table.closest(".scroll");
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name });
  const copy = element("button", { type: "button", class: "copy" }, "Copy as CSV");
  const tools = element("div", { class: "tools" }, copy);
  const wrapper = element("div", { class: "table" }, box, tools);
  old?.replaceWith(wrapper);
  box.append(table);
  if (table.tBodies[0].rows.length > 1) makeSortable(table);
  copy.addEventListener("click", async () => {
    copy.textContent = (await copyText(csv(table))) ? "Copied" : "The browser did not allow copying";
    copy.addEventListener("blur", () => (copy.textContent = "Copy as CSV"), { once: true });
  });
  return wrapper;
}

// copyText writes to the clipboard. Browsers may refuse the Clipboard API to a page that was
// opened from a file, so the older command is the fallback.
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// csv follows RFC 4180, with numbers that a program can parse.
export function csv(table: HTMLTableElement): string {
  const field = (cell: Element) => {
    const text = (cell.textContent ?? "").trim();
    const plain = numeric(cell) && /^[-−]?[\d,]+(\.\d+)?$/.test(text) ? text.replaceAll(",", "").replace("−", "-") : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return [...table.rows].map((row) => [...row.cells].map(field).join(",") + "\r\n").join("");
}

const numeric = (cell: Element) => cell.classList.contains("n");

function makeSortable(table: HTMLTableElement): void {
  const heads = [...table.tHead!.rows[0].cells];
  heads.forEach((head, column) => {
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up > 0 ? "ascending" : "descending");
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort((a, b) => compare(a.cells[column], b.cells[column], up)));
    });
  });
}

// compare sorts cells without a number last in both directions.
function compare(a: Element, b: Element, up: number): number {
  const [x, y] = [a.textContent ?? "", b.textContent ?? ""];
  const [m, n] = [value(x), value(y)];
  if (!numeric(a) || (Number.isNaN(m) && Number.isNaN(n))) return up * x.localeCompare(y, "en", { numeric: true });
  if (Number.isNaN(m) || Number.isNaN(n)) return Number.isNaN(m) ? 1 : -1;
  return up * (m - n);
}

// value is the first number in a text: 32 in "32–35 %".
function value(text: string): number {
  const found = /[-−]?\d[\d,]*(\.\d+)?/.exec(text);
  return found ? Number(found[0].replaceAll(",", "").replace("−", "-")) : NaN;
}
