// The list of stored runs: search, and select runs to compare.

import { element } from "../element";
import { request, reportPath, formatTime, type Run } from "./api";

const page = 100;

export async function runs(main: HTMLElement): Promise<void> {
  const query = new URLSearchParams(location.search);
  const search = element("input", { id: "search", type: "search", placeholder: "channels partial", autocomplete: "off", title: "Press / to search" });
  search.value = query.get("search") ?? "";
  const compare = element("button", { type: "button", class: "action", disabled: "" }, "Compare");
  const total = element("p", { class: "note", role: "status" });
  const rows = element("tbody");
  const more = element("button", { type: "button", class: "action plain" }, "More");
  const headings: [string, string][] = [["", ""], ["run", ""], ["experiment", ""], ["started", ""], ["status", ""], ["trials", "n"], ["arms", ""]];
  const table = element("table", { class: "runs" }, element("thead", {}, element("tr", {}, ...headings.map(([name, kind]) => element("th", { scope: "col", class: kind }, name || element("span", { class: "skip" }, "compare"))))), rows);
  main.append(element("section", {}, element("h1", {}, "Runs"),
    element("div", { class: "fields" }, element("div", { class: "field" }, element("label", { for: "search" }, "Search by ID, experiment, status or arm"), search), compare),
    total, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" }, table), more));

  const chosen = query.getAll("run"); // in the order of selection: the others are compared with the first
  const updateAddress = (): void => {
    const address = new URLSearchParams([...(search.value ? [["search", search.value]] : []), ...chosen.map((id) => ["run", id])]);
    history.replaceState(null, "", `?${address}`); // the address opens the same list
    compare.disabled = chosen.length < 2;
    compare.textContent = chosen.length < 2 ? "Compare" : `Compare ${chosen.length} runs`;
  };
  compare.addEventListener("click", () => location.assign("/compare?" + chosen.map((id) => `run=${encodeURIComponent(id)}`).join("&")));

  const row = (r: Run): HTMLElement => {
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${r.id}`, ...(chosen.includes(r.id) ? { checked: "" } : {}) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.push(r.id);
      else chosen.splice(chosen.indexOf(r.id), 1);
      updateAddress();
    });
    const experiment = element("a", { href: `/runs?search=${encodeURIComponent(r.experiment)}` }, r.experiment);
    const trials = ["done", "failed"].includes(r.status) ? `${r.trials}` : `${r.trials} of ${r.planned}`;
    return element("tr", {}, element("td", {}, box), element("th", { scope: "row" }, element("a", { href: reportPath(r.id) }, r.id)), element("td", {}, experiment, r.quick ? ", quick" : ""),
      element("td", {}, formatTime(r.started)), element("td", { class: `status ${r.status}` }, r.status), element("td", { class: "n" }, trials), element("td", { title: r.arms.join(", ") }, `${r.arms.length}: ${r.arms.slice(0, 2).join(", ")}${r.arms.length > 2 ? ", …" : ""}`));
  };
  let requests = 0;
  const load = async (offset: number): Promise<void> => {
    const current = ++requests;
    const found = await request<{ runs: Run[]; total: number }>(`/api/v1/runs?limit=${page}&offset=${offset}&search=${encodeURIComponent(search.value)}`);
    if (current !== requests) return; // a newer search is in progress
    if (offset === 0) rows.replaceChildren();
    rows.append(...found.runs.map(row));
    total.textContent = found.total === 0 ? (search.value ? "No run matches." : "No runs yet.") : `${found.total.toLocaleString("en")} ${found.total === 1 ? "run" : "runs"}`;
    more.hidden = rows.rows.length >= found.total;
  };
  const failed = (error: unknown): void => void (total.textContent = error instanceof Error ? error.message : String(error));
  let pause = 0;
  search.addEventListener("input", () => {
    clearTimeout(pause);
    updateAddress();
    pause = window.setTimeout(() => load(0).catch(failed), 150);
  });
  more.addEventListener("click", () => load(rows.rows.length).catch(failed));
  updateAddress();
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    search.focus();
  });
  await load(0);
}
