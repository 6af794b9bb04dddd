// Requests of the page to /api/v1, which /api/v1/openapi.json describes.

import { element } from "../element";
import type { View } from "../view";

export interface Second { at_s: number; arm: string; rate: number; p50: number | null; p99: number | null; failed: number } // of one arm; percentiles of the answered calls alone; failed: of all arms so far
export interface FinishedTrial { order: number; round: number; arm: string; cell?: string; calls: number; rate: number; p50: number | null; p99: number | null; failed: number; lost?: number; calls_by_name?: NamedCalls[]; why?: string }
export interface NamedCalls { name: string; calls: number; failed: number; p50: number | null; p99: number | null; lost?: number }
export interface CurrentTrial { order: number; round: number; arm: string; cell?: string; doing?: string; backends: Record<string, number>; errors: Record<string, number>; dropped: number; events: { at_ms: number; what: string; hit: string[]; error?: string }[] }
export type Bound = "lower" | "upper"; // the true ratio is at least or at most the ratio, because calls were lost
export interface Verdict { metric: string; a: string; b: string; cell: Record<string, unknown>; ratio: number; ci: [number, number]; bound?: Bound; decision: string; reason?: string; unfit?: boolean; values?: string } // values: of both arms, where their ratio says nothing
export interface State {
  phase: "idle" | "running" | "stopping" | "done" | "partial" | "failed";
  why?: string;
  run: { id: string; experiment: string; question: string; started: string; rounds: number; planned: number; quick: boolean; arms: string[] } | null;
  now: CurrentTrial | null;
  left_s: number | null;
  done: number;
  from_trial: number;
  trials: FinishedTrial[];
  from_second: number;
  seconds: Second[];
  answer?: string;
  verdicts: Verdict[];
  queue: { id: string; experiment: string; planned: number }[];
  failed_runs: { id: string; experiment: string; why: string }[];
}
export interface Run { id: string; experiment: string; started: string; status: string; trials: number; planned: number; quick: boolean; arms: string[] }
export interface Experiment { name: string; question: string; arms: string[]; rounds: number }
export interface Overview { name: string; question: string; offered: boolean; finished: number; last: { id: string; started: string; status: string; quick: boolean; answer: string } | null }
export interface Change { arm: string; cell: string; quick: boolean; last: string; run: string; started: string; before: number; after: number }
export interface RunCharts { id: string; experiment: string; question: string; started: string; answer: string; view: View }
export interface Service { name: string; calls: string[] }
export interface Point { run: string; started: string; arm: string; cell: string; value: number; lost?: number; quick: boolean; partial: boolean }
export type ValueBound = "lower" | "never"; // a lower bound, or a time that did not end
export interface Ratio { metric: string; arm: string; cell: Record<string, unknown>; a: number; b: number; a_bound?: ValueBound; b_bound?: ValueBound; ratio: number; ci: [number, number]; bound?: Bound; decision: string; reason?: string; cause?: { kind: string }; unfit?: boolean; secondary?: boolean }
export interface Comparison {
  a: { id: string; experiment: string; started: string };
  b: { id: string; experiment: string; started: string };
  warnings: string[];
  differences: { kind: string; what: string; arm?: string; a: string; b: string }[];
  refused: { arm: string; reason: string }[];
  ratios: Ratio[];
}

// request returns the body of the response, or throws the error message of the server.
export async function request<T>(path: string, post?: unknown): Promise<T> {
  const response = await fetch(path, post === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(post) });
  if (response.status === 401) {
    location.assign("/login");
    throw new Error("Your session has expired; log in again.");
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Error(body?.detail ?? `The server responded with status ${response.status}.`);
  return body as T;
}

// showError shows an error where its content would be.
export function showError(container: HTMLElement, error: unknown): void {
  container.append(element("p", { class: "warning", role: "alert" }, error instanceof Error ? error.message : String(error)));
}

// formatTime formats a time in the zone of the reader.
export const formatTime = (text: string): string => new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const cellText = (cell: Record<string, unknown>): string => Object.entries(cell).map(([path, value]) => `${path.split(".").pop()} = ${Number.isFinite(value) ? (value as number).toLocaleString("en") : String(value)}`).join(", ");

// formatDuration formats seconds: 40 s, 3 min 20 s.
export function formatDuration(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export const reportPath = (id: string): string => `/runs/${encodeURIComponent(id)}/report`;
