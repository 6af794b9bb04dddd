import { backends } from "./backends";
import type { Chart } from "./chart";
import { latency } from "./latency";

// charts are all of them, by the name that a figure's data-chart has.
export const charts: Record<string, Chart> = { latency, backends };
