// One metric of every arm over the runs of an experiment.

import * as Plot from "@observablehq/plot";
import { grid, armStyle, drawZoomed, plot, swatch } from "../charts/style";
import { element } from "../element";
import { percent, short, tick } from "../format";
import { atLeast } from "../view";
import { buildTable, withTools } from "../table";
import { makeZoomable, parseZoom, zoomText, type Range } from "../zoom";
import { request, formatTime, reportPath, type Change, type Point } from "./api";
import { getOverview } from "./overview";

const metrics: [string, string, string][] = [
  ["p50", "Median latency", "ms"], ["p90", "p90 latency", "ms"], ["p99", "p99 latency", "ms"], ["p999", "p99.9 latency", "ms"], ["mean", "Mean latency", "ms"], ["rate", "Rate", "calls/s"], ["capacity", "Capacity", "calls/s"],
  ["errors", "Errors", "share"], ["client_cpu", "CPU of callers", "µs per call"], ["server_cpu", "CPU of servers", "µs per call"], ["balance", "Balance", "Jain's index"],
];

export async function trend(main: HTMLElement): Promise<void> {
  const query = new URLSearchParams(location.search);
  const listed = (await getOverview()).filter((e) => e.last).map((e) => e.name);
  const linked = query.getAll("experiment").filter((n) => n); // may be older than the experiments of the overview
  const names = [...new Set([...listed, ...linked])].sort();
  let zoom = parseZoom(query.get("zoom"));
  const option = (value: string, text: string, chosen: string | null) => element("option", { value, ...(value === chosen ? { selected: "" } : {}) }, text);
  const name = element("select", { id: "experiment" }, ...names.map((n) => option(n, n, query.get("experiment"))));
  const metric = element("select", { id: "metric" }, ...metrics.map(([value, text]) => option(value, text, query.get("metric") ?? "p99")));
  const count = element("select", { id: "runs" }, ...["50", "200", "1000"].map((n) => option(n, Number(n).toLocaleString("en"), query.get("runs") ?? "200")));
  const quick = element("input", { type: "checkbox", id: "quick", ...(query.get("quick") === "no" ? {} : { checked: "" }) });
  const container = element("div");
  main.append(element("section", {}, element("h1", {}, "Trend"), element("div", { class: "fields" },
    element("div", { class: "field" }, element("label", { for: "experiment" }, "Experiment"), name), element("div", { class: "field" }, element("label", { for: "metric" }, "Metric"), metric),
    element("div", { class: "field" }, element("label", { for: "runs" }, "Newest runs"), count),
    element("label", { class: "check" }, quick, "Include quick runs, whose load is scaled down")), container));
  if (names.length === 0) return container.append(element("p", { class: "none" }, "No runs yet."));

  let asked = 0;
  const show = async (): Promise<void> => {
    const mine = ++asked;
    const shown = metric.value;
    const chosen = `experiment=${encodeURIComponent(name.value)}&metric=${metric.value}&runs=${count.value}${quick.checked ? "" : "&quick=no"}`;
    try {
      const { points, changes } = await request<{ points: Point[]; changes: Change[] }>(`/api/v1/trend?${chosen}`);
      if (mine !== asked) return; // the reader has chosen something else since
      const redraw = (range?: Range): void => {
        const focused = container.contains(document.activeElement);
        zoom = range;
        history.replaceState(null, "", `?${chosen}${zoom ? `&zoom=${zoomText(zoom)}` : ""}`); // the address opens the same view
        draw(container, points, changes, shown, zoom, redraw);
        if (focused) container.querySelector<HTMLElement>(".picture")?.focus();
      };
      redraw(zoom);
    } catch (error) {
      if (mine !== asked) return;
      container.replaceChildren(element("p", { class: "warning", role: "alert" }, error instanceof Error ? error.message : String(error)));
    }
  };
  for (const choice of [name, metric, count, quick]) {
    choice.addEventListener("change", () => {
      zoom = undefined;
      void show();
    });
  }
  await show();
}

// exceeding is, for a metric that can be a lower bound, the q of "one in q calls exceeds it".
const exceeding: Record<string, number> = { p50: 2, p90: 10, p99: 100, p999: 1000, mean: Infinity };

const most = 12; // lines that a reader can distinguish

function draw(container: HTMLElement, points: Point[], changes: Change[], metric: string, zoom: Range | undefined, redraw: (zoom?: Range) => void): void {
  const [, title, unit] = metrics.find(([name]) => name === metric)!;
  if (points.length === 0) return container.replaceChildren(element("p", { class: "none" }, "No finished run has this metric."));
  const sweep = new Set(points.map((p) => p.cell)).size > 1;
  const line = (p: { arm: string; cell: string }) => p.arm + (sweep && p.cell ? `, ${p.cell}` : "");
  const all = [...new Set(points.map(line))];
  const lines = all.slice(0, most);
  // Runs are spaced evenly, whatever the time between them.
  const runs = [...new Set(points.map((p) => p.run))];
  const started = new Map(points.map((p) => [p.run, p.started]));
  const day = (at: string) => new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const oneDay = new Set([...started.values()].map(day)).size === 1;
  const moment = (at: string) => (oneDay ? new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }) : day(at));
  const text = (p: Point) => (metric === "errors" ? percent(p.value) : atLeast(metric in exceeding ? p : {}, exceeding[metric], short(p.value)));
  const marks: Plot.Markish[] = lines.flatMap((name, i) => {
    const of = armStyle(lines, "", i);
    const mine = points.filter((p) => line(p) === name).map((p) => ({ ...p, at: runs.indexOf(p.run) + 1 }));
    return [
      Plot.line(mine, { x: "at", y: "value", z: (p: Point) => p.quick, stroke: of.color, strokeWidth: of.width, strokeDasharray: of.dash, strokeOpacity: (p: Point) => (p.quick ? 0.5 : 1) }),
      ...(runs.length > 100 ? [] : [Plot.dot(mine, { x: "at", y: "value", symbol: of.symbol, fill: (p: Point) => (p.quick ? "var(--paper)" : of.color), stroke: of.color, r: 3.5, href: (p: Point) => reportPath(p.run), title: (p: Point) => `${name}, ${formatTime(p.started)}: ${text(p)} ${unit}${p.quick ? ", quick" : ""}` })]),
    ];
  });
  const changed = changes.filter((c) => lines.includes(line(c))).map((c) => ({ ...c, at: runs.indexOf(c.run) + 0.5 }));
  marks.push(Plot.ruleX(changed, { x: "at", stroke: (c: Change) => armStyle(lines, "", lines.indexOf(line(c))).color, strokeDasharray: "4 3", className: "change" }),
    Plot.text(changed, { x: "at", frameAnchor: "top", dy: -10, text: (c: Change) => changeText(c), fill: "var(--ink)", clip: false }));
  const drawn = drawZoomed(zoom, () => plot(`${title} of ${lines.length} arms over ${runs.length} runs; the table below has the numbers`, {
    width: container.clientWidth, height: 320, marginLeft: 56, marginRight: 16, marginTop: 24,
    x: { domain: [0.5, runs.length + 0.5], ticks: Math.min(runs.length, 8), tickFormat: (at: number) => (Number.isInteger(at) && runs[at - 1] ? moment(started.get(runs[at - 1])!) : ""), tickSize: 0, label: null },
    y: { zero: true, nice: true, label: unit, labelArrow: "none", tickSize: 0, ticks: 6, ...(metric === "errors" ? { tickFormat: percent } : { tickFormat: tick }) },
    marks: [Plot.gridY({ ...grid, ticks: 6 }), ...marks],
  }));
  const legend = element("ul", { class: "legend" }, ...lines.map((name, i) => element("li", { class: "check" }, swatch(armStyle(lines, "", i)), name)));
  const note = `${runs.length === 1 ? "One run" : `${runs.length} runs`}, oldest first${oneDay ? ` (${day(points[0].started)})` : ""}, evenly spaced.` + (points.some((p) => p.quick) ? ` Quick runs have paler lines of their own${runs.length > 100 ? "" : ", with hollow symbols"}.` : "") + (all.length > most ? ` The chart shows the first ${most} of ${all.length} lines; the table shows all.` : "") + (metric in exceeding && points.some((p) => p.lost) ? " A call that failed or was dropped counts as its deadline; >: a lower bound." : "") + " A change of the machine between runs changes the values too.";
  const table = withTools(buildTable({ columns: [{ name: "run" }, { name: "started" }, { name: "arm" }, { name: unit, number: true }, { name: "kind" }], rows: [...points].reverse().map((p) => [p.run, formatTime(p.started), line(p), text(p), [p.quick ? "quick" : "", p.partial ? "stopped early" : ""].filter((k) => k).join(", ")]) }), title);
  table.querySelector(".scroll")?.classList.add("tall");
  const picture = element("div", { class: "picture" }, drawn);
  container.replaceChildren(element("figure", {}, element("figcaption", {}, element("strong", {}, title), element("span", {}, note)), legend, picture), changeList(changes, line, unit), table);
  makeZoomable(picture, zoom, redraw);
}

// changeText is a change in percent; a change from or to 0 has none.
const changeText = (c: Change): string => (c.before > 0 && c.after > 0 ? `${c.after > c.before ? "+" : "−"}${percent(Math.abs(c.after / c.before - 1))}` : "");

// changeList describes the changes, the newest first.
function changeList(changes: Change[], line: (c: Change) => string, unit: string): HTMLElement {
  const why = "Rank tests find a change, with a probability of 5 % that a trend without a change shows any. A change needs four runs on each side and is at least 3 %.";
  const items = changes.map((c) => element("li", {}, `${line(c)}${c.quick ? ", quick runs" : ""}: from ${short(c.before)} to ${short(c.after)} ${unit}${changeText(c) ? ` (${changeText(c)})` : ""} since the run of `,
    element("a", { href: reportPath(c.run) }, formatTime(c.started)), ". ", element("a", { href: `/compare?run=${encodeURIComponent(c.last)}&run=${encodeURIComponent(c.run)}` }, "Compare with the run before")));
  return element("div", { class: "changes" }, element("h3", {}, "Changes"), items.length ? element("ul", {}, ...items) : element("p", {}, "No change found."), element("p", { class: "note" }, why));
}
