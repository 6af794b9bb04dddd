import { backends } from "./backends";
import { capacity } from "./capacity";
import type { Chart } from "./chart";
import { cost } from "./cost";
import { effects } from "./effects";
import { latency } from "./latency";
import { memory } from "./memory";
import { overtime } from "./overtime";
import { published } from "./published";
import { sweep } from "./sweep";
import { timeline } from "./timeline";

// charts maps the data-chart attribute of a figure to its chart.
export const charts: Record<string, Chart> = { backends, capacity, cost, effects, latency, memory, overtime, published, sweep, timeline };
