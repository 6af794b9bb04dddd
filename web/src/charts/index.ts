import { backends } from "./backends";
import { capacity } from "./capacity";
import type { Chart } from "./chart";
import { cost } from "./cost";
import { course } from "./course";
import { effects } from "./effects";
import { latency } from "./latency";
import { memory } from "./memory";
import { published } from "./published";
import { sweep } from "./sweep";

// charts are all of them, by the name that a figure's data-chart has.
export const charts: Record<string, Chart> = { backends, capacity, cost, course, effects, latency, memory, published, sweep };
