// The data of the charts: rpclab.view/v1, made by internal/report/html/view.go.

export const SCHEMA = "rpclab.view/v1";

export type Maybe = number | null;

export interface View {
  schema: string;
  experiment: string;
  baseline: string;
  arms: string[];
  cells: { name: string; x?: number }[];
  quantiles: number[];
  series: Series[];
  effects: Effect[];
}

export interface Series {
  arm: number;
  cell: number;
  limited?: boolean;
  lost?: number; // share of the calls: percentiles above 1 - lost are lower bounds
  p50: number;
  p99: number;
  rate: number;
  elapsed: number;
  curve?: { ms: Maybe[]; low?: Maybe[]; high?: Maybe[] };
  backends?: { backend: string; calls: number }[];
  round?: number; // of the backends
  cost?: { party: string; cpu: number; mb: number }[];
  timeline?: Timeline;
  over_time?: { round: number; step: number; p50: Maybe[]; p99: Maybe[] };
  memory?: { round: number; step: number; mb: number[]; start: number; end: number }; // mb: the most of each step
  capacity?: { rate: number; low: number; high: number };
  published?: { metric: string; published: number; measured: number; bound?: boolean }[];
}

// isBound says whether the percentile that one in q calls exceeds is only a lower bound, because it is of
// lost calls.
export const isBound = (s: { lost?: number }, q: number) => q * (s.lost ?? 0) > 1 + 1e-9;

// atLeast marks a lower bound.
export const atLeast = (s: { lost?: number }, q: number, text: string) => (isBound(s, q) ? `> ${text}` : text);

export interface Timeline {
  round: number;
  step: number;
  backends: { backend: string; calls: number[] }[];
  errors: number[];
  ready: number[];
  marks?: { at: number; what: string }[];
}

export interface Effect {
  arm: number;
  cell: number;
  index: number; // of the event in its trial
  what: string;
  at: number;
  failed: number;
  resolver_updated: Maybe;
  first_call: Maybe;
  balanced_again: Maybe;
}

// parseView reads the data of a page. Its errors tell the user what to do.
export function parseView(text: string): View {
  let view: View;
  try {
    view = JSON.parse(text);
  } catch {
    throw new Error("The data in this page is damaged, so the charts cannot be drawn. Create the page again: rpclab report RUN --html FILE");
  }
  if (view?.schema !== SCHEMA) {
    throw new Error(`The data in this page has ${view?.schema ? `the format ${view.schema}` : "no known format"}, but the script of the page reads ${SCHEMA}. Create the page again: rpclab report RUN --html FILE`);
  }
  return view;
}

// seriesOf returns the series of one cell, in the order of the arms.
export function seriesOf(view: View, cell: number): Series[] {
  return view.series.filter((s) => s.cell === cell).sort((a, b) => a.arm - b.arm);
}
