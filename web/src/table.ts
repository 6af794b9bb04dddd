// Tables that sort by their columns and are copied as CSV.

import type { Table } from "./charts/chart";
import { element } from "./element";

// fill makes a table of a chart's numbers.
export function fill(data: Table): HTMLTableElement {
  const kind = (i: number): Record<string, string> => (data.columns[i]?.number ? { class: "n" } : {});
  return element("table", {},
    element("thead", {}, element("tr", {}, ...data.columns.map((c, i) => element("th", { scope: "col", ...kind(i) }, c.name)))),
    element("tbody", {}, ...data.rows.map((row) => element("tr", {}, ...row.map((v, i) => (i === 0 ? element("th", { scope: "row" }, String(v)) : element("td", kind(i), String(v))))))));
}

// dress gives a table its buttons, in a box that scrolls where it is too wide.
export function dress(table: HTMLTableElement, name: string): HTMLElement {
  const old = table.closest(".scroll");
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name });
  const copy = element("button", { type: "button", class: "copy" }, "Copy as CSV");
  const tools = element("div", { class: "tools" }, copy);
  const whole = element("div", { class: "table" }, box, tools);
  old?.replaceWith(whole);
  box.append(table);
  if (table.tBodies[0].rows.length > 1) sortable(table);
  copy.addEventListener("click", async () => {
    copy.textContent = (await write(csv(table))) ? "Copied" : "The browser does not allow it";
    copy.addEventListener("blur", () => (copy.textContent = "Copy as CSV"), { once: true });
  });
  return whole;
}

// write puts text on the clipboard, also from a file, where the newer way may be closed.
async function write(text: string): Promise<boolean> {
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

// csv is RFC 4180, with numbers as a program reads them.
export function csv(table: HTMLTableElement): string {
  const field = (cell: Element) => {
    const text = (cell.textContent ?? "").trim();
    const plain = numeric(cell) && /^[-−]?[\d,]+(\.\d+)?$/.test(text) ? text.replaceAll(",", "").replace("−", "-") : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return [...table.rows].map((row) => [...row.cells].map(field).join(",") + "\r\n").join("");
}

const numeric = (cell: Element) => cell.classList.contains("n");

function sortable(table: HTMLTableElement): void {
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

// compare puts what is no number last, whichever way it sorts.
function compare(a: Element, b: Element, up: number): number {
  const [x, y] = [a.textContent ?? "", b.textContent ?? ""];
  const [m, n] = [value(x), value(y)];
  if (!numeric(a) || (Number.isNaN(m) && Number.isNaN(n))) return up * x.localeCompare(y, "en", { numeric: true });
  if (Number.isNaN(m) || Number.isNaN(n)) return Number.isNaN(m) ? 1 : -1;
  return up * (m - n);
}

// value is the first number in a text: of "32–35 %" it is 32.
function value(text: string): number {
  const found = /[-−]?\d[\d,]*(\.\d+)?/.exec(text);
  return found ? Number(found[0].replaceAll(",", "").replace("−", "-")) : NaN;
}
