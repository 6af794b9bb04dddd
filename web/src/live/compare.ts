// Comparisons of runs with the first of them.

import { element } from "../element";
import { Figures } from "../figure";
import { ratioText, short } from "../format";
import { chosen, remember } from "../state";
import { buildTable, withTools } from "../table";
import { request, cellText, reportPath, formatTime, type Comparison, type Ratio, type RunCharts, type ValueBound } from "./api";
import { merge } from "./merge";

const words: Record<string, string> = { better: "▲ better", worse: "▼ worse", equivalent: "= equivalent", undecided: "? undecided" };

// noVerdict is what a guard leaves. More rounds may decide an undecided verdict, and not this one.
const noVerdict = "no verdict";

const outcomeOf = (r: Ratio): string => r.unfit ? noVerdict : words[r.decision] ?? r.decision;

const units: Record<string, string> = { rate: "calls/s", capacity: "capacity, calls/s", errors: "errors, share", balance: "balance, Jain's index", convergence: "balanced again, ms", elapsed: "elapsed, ms", failed: "lost calls, share", followed: "followed, ms" };

// describeMetric returns a metric with its unit, and the divisor of its values.
function describeMetric(metric: string): [string, number] {
  if (units[metric]) return [units[metric], 1];
  const [of, what] = metric.split("_");
  if (of === "latency") return [`${what === "p999" ? "p99.9" : what}, ms`, 1];
  return what === "memory" ? [`${of}, MB`, 1e6] : [`${of}, µs per call`, 1];
}

// valueOf formats what an arm measured. Only shares of calls can be 0; another 0 says that there is no value.
function valueOf(v: number, metric: string, divisor: number, bound?: ValueBound): string {
  if (bound === "never") return "never";
  if (v === 0 && metric !== "failed" && metric !== "errors") return "–";
  return (bound === "lower" ? ">" : "") + short(v / divisor);
}

// hasRatio reports whether a ratio says anything: not of shares, which may be 0, nor of lost calls.
const hasRatio = (r: Ratio): boolean => r.ratio > 0 && r.metric !== "failed" && r.cause?.kind !== "lost_calls";

export async function compare(main: HTMLElement): Promise<void> {
  const container = element("section", {}, element("h1", {}, "Compare"));
  main.append(container);
  const ids = new URLSearchParams(location.search).getAll("run");
  if (ids.length < 2) {
    container.append(element("p", { class: "none" }, "Choose at least two runs ", element("a", { href: "/runs" }, "in the list"), "."));
    return;
  }
  const { comparisons } = await request<{ comparisons: Comparison[] }>("/api/v1/compare?" + ids.map((id) => `run=${encodeURIComponent(id)}`).join("&"));
  container.append(element("p", { class: "note" }, "The runs were made at different times, so a difference may come from the machine instead of the arm. To find out, run both as arms of one experiment."));
  for (const c of comparisons) {
    const [a, b] = await Promise.all([c.a.id, c.b.id].map((id) => request<RunCharts>(`/api/v1/runs/${encodeURIComponent(id)}/view`)));
    const box = comparison(c);
    box.querySelector("h2")!.after(answers(a, b));
    container.append(box);
    sideBySide(box, a, b);
  }
}

// answers are those of both runs, next to each other.
function answers(a: RunCharts, b: RunCharts): HTMLElement {
  const one = (name: string, run: RunCharts) => element("div", {}, element("h3", {}, `${name}: ${run.experiment}`), element("p", { class: "when" }, element("a", { href: reportPath(run.id) }, formatTime(run.started))), element("p", {}, run.answer));
  return element("div", { class: "sides" }, one("A", a), one("B", b));
}

// sideBySide draws both runs in the same charts.
function sideBySide(box: HTMLElement, a: RunCharts, b: RunCharts): void {
  const view = merge(a.view, b.view);
  const figures = ["timeline", "overtime", "latency", "backends", "effects", "cost"].map((chart) => element("figure", { "data-chart": chart }));
  const choice = element("select", { id: "cell" }, ...view.cells.map((c, i) => element("option", { value: `${i}` }, c.name)));
  const choose = view.cells.length > 1 ? [element("div", { class: "field" }, element("label", { for: "cell" }, "Charts show"), choice)] : [];
  box.append(element("h3", {}, "Charts"), ...choose, ...figures);
  const drawn = new Figures(box, view);
  choice.value = chosen("cell") ?? "0";
  choice.addEventListener("change", () => {
    remember("cell", choice.value === "0" ? "" : choice.value);
    drawn.show(Number(choice.value));
  });
  drawn.show(Number(choice.value || 0));
}

function comparison(c: Comparison): HTMLElement {
  const run = (name: string, side: Comparison["a"]) => element("a", { href: reportPath(side.id), title: side.id }, `${name}: ${side.experiment} of ${formatTime(side.started)}`);
  const box = element("div", { class: "comparison" }, element("h2", {}, run("B", c.b), " compared with ", run("A", c.a)));
  for (const text of c.warnings) box.append(element("p", { class: "warning" }, text.charAt(0).toUpperCase() + text.slice(1) + "."));
  const table = (name: string, columns: [string, boolean?][], rows: string[][]) => {
    if (rows.length > 0) box.append(element("h3", {}, name), withTools(buildTable({ columns: columns.map(([name, number]) => ({ name, number })), rows }), name));
  };
  const sweep = new Set(c.ratios.map((r) => cellText(r.cell))).size > 1;
  const columns: [string, boolean?][] = [["arm"], ["metric"], ["A", true], ["B", true], ["ratio", true], ["interval", true], ["verdict"]];
  const ratios = (title: string, all: Comparison["ratios"]) => {
    const where = (r: Ratio) => r.arm + (sweep ? `, ${cellText(r.cell)}` : "");
    table(title, columns, all.map((r) => {
      const [name, divisor] = describeMetric(r.metric);
      return [where(r), name, valueOf(r.a, r.metric, divisor, r.a_bound), valueOf(r.b, r.metric, divisor, r.b_bound), hasRatio(r) ? ratioText(r.ratio, r.bound) : "–", hasRatio(r) && (r.ci[0] || r.ci[1]) ? `${ratioText(r.ci[0])}–${ratioText(r.ci[1])}` : "–", outcomeOf(r)];
    }));
    const reasons = new Map<string, string[]>(); // to the verdicts that have the reason
    for (const r of all) {
      if (!r.reason) continue;
      const reason = `${r.unfit ? noVerdict : "undecided"}: ${r.reason}`;
      reasons.set(reason, [...(reasons.get(reason) ?? []), `${where(r)} ${describeMetric(r.metric)[0].replace(/,.*/, "")}`]);
    }
    if (reasons.size > 0) box.append(element("ul", { class: "reasons" }, ...[...reasons].map(([reason, verdicts]) => element("li", {}, `${verdicts.join(", ")}: ${reason}`))));
  };
  ratios("Headline metrics", c.ratios.filter((r) => !r.secondary));
  ratios("Other metrics", c.ratios.filter((r) => r.secondary));
  table("Other differences", [["setting"], ["arm"], ["A"], ["B"]], c.differences.map((d) => [d.what, d.arm ?? "", d.a || "–", d.b || "–"]));
  table("Not compared", [["arm"], ["reason"]], c.refused.map((r) => [r.arm, r.reason]));
  if (c.ratios.length === 0) box.append(element("p", { class: "none" }, "No arm of one run can be compared with an arm of the other."));
  return box;
}
