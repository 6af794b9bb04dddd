// The experiments, each with the answer of its last run.

import { element } from "../element";
import { formatTime, reportPath, request, type Overview } from "./api";

export const getOverview = async (): Promise<Overview[]> => (await request<{ experiments: Overview[] }>("/api/v1/overview")).experiments;

// overview lists the experiments. choose selects one in the form.
export async function overview(container: HTMLElement, choose: (experiment: string) => void): Promise<void> {
  const all = await getOverview().catch(() => []); // a page of one run without a store has no overview
  const answered = all.filter((e) => e.last), others = all.filter((e) => !e.last);
  container.hidden = all.length === 0;
  const start = (e: Overview) => {
    const button = element("button", { type: "button", class: "copy", "aria-label": `Start ${e.name}` }, "Start …");
    button.addEventListener("click", () => choose(e.name));
    return e.offered ? [button] : [];
  };
  const item = (e: Overview): HTMLElement => {
    const last = e.last!;
    const kind = [last.quick ? "quick" : "", last.status === "partial" ? "stopped early" : ""].filter((k) => k).join(", ");
    const failed = last.status === "failed" ? [element("span", { class: "status failed" }, "failed an assertion or gate")] : [];
    return element("li", {},
      element("h3", {}, e.name), element("p", { class: "asked" }, e.question),
      element("p", { class: "said" }, element("a", { href: reportPath(last.id) }, last.answer)),
      element("p", { class: "when" }, element("time", { datetime: last.started, title: formatTime(last.started) }, ago(last.started)), ...(kind ? [element("span", {}, kind)] : []), ...failed,
        element("a", { href: `/runs?search=${encodeURIComponent(e.name)}` }, e.finished === 1 ? "1 run" : `${e.finished.toLocaleString("en")} runs`),
        ...(e.finished > 1 ? [element("a", { href: `/trend?experiment=${encodeURIComponent(e.name)}` }, "trend")] : []), ...start(e)));
  };
  container.replaceChildren(element("h2", { id: "experiments" }, "Experiments"),
    ...(answered.length ? [element("ul", { class: "overview", "aria-label": "Experiments and their last answers" }, ...answered.map(item))] : []),
    ...(others.length ? [element("h3", {}, "Not run yet"), element("ul", { class: "overview brief" }, ...others.map((e) => element("li", {}, element("h3", {}, e.name), element("p", { class: "asked" }, e.question), element("p", { class: "when" }, ...start(e)))))] : []));
}

const units: [number, string][] = [[60, "second"], [60, "minute"], [24, "hour"], [7, "day"], [Infinity, "week"]];

// ago is the time since a moment: 3 hours ago.
function ago(moment: string): string {
  let passed = (Date.now() - new Date(moment).getTime()) / 1000;
  for (const [size, unit] of units) {
    if (passed < size) return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.floor(passed), unit as Intl.RelativeTimeFormatUnit);
    passed /= size;
  }
  return formatTime(moment);
}
