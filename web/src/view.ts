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
  p50: number;
  p99: number;
  rate: number;
  elapsed: number;
  curve?: { ms: Maybe[]; low?: Maybe[]; high?: Maybe[] };
  backends?: { backend: string; calls: number }[];
  round?: number; // of the backends
  cost?: { party: string; cpu: number; mb: number }[];
  course?: Course;
  memory?: { round: number; step: number; mb: number[] };
  capacity?: { rate: number; low: number; high: number };
  published?: { metric: string; theirs: number; ours: number }[];
}

export interface Course {
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
  place: number;
  what: string;
  at: number;
  failed: number;
  told: Maybe;
  first: Maybe;
  even: Maybe;
}

// read takes the data out of a page's element, and says what is wrong with it.
export function read(text: string): View {
  let view: View;
  try {
    view = JSON.parse(text);
  } catch {
    throw new Error("The data in this page is damaged, so there are no pictures. Make the page again: rpclab report RUN --html FILE");
  }
  if (view?.schema !== SCHEMA) {
    throw new Error(`The data in this page is ${view?.schema ?? "of no known form"}, and its script draws ${SCHEMA}. Make the page again: rpclab report RUN --html FILE`);
  }
  return view;
}

// here are the series of one cell, in the order of the arms.
export function here(view: View, cell: number): Series[] {
  return view.series.filter((s) => s.cell === cell).sort((a, b) => a.arm - b.arm);
}
