// What the page asks of /api/v1; /api/v1/openapi.json describes it.

import { element } from "../element";

export interface Second { at_s: number; rate: number; p50: number | null; p99: number | null; failed: number }
export interface Ended { order: number; round: number; arm: string; cell?: string; calls: number; rate: number; p50: number | null; p99: number | null; failed: number; why?: string }
export interface Now { order: number; round: number; arm: string; cell?: string; doing?: string; backends: Record<string, number>; errors: Record<string, number>; dropped: number; events: { at_ms: number; what: string; hit: string[]; error?: string }[] }
export interface Verdict { metric: string; a: string; b: string; cell: Record<string, unknown>; ratio: number; ci: [number, number]; decision: string; reason?: string }
export interface State {
  phase: "idle" | "running" | "stopping" | "done" | "partial" | "failed";
  why?: string;
  run: { id: string; experiment: string; question: string; started: string; rounds: number; planned: number; quick: boolean; arms: string[] } | null;
  now: Now | null;
  left_s: number | null;
  done: number;
  from_trial: number;
  trials: Ended[];
  from_second: number;
  seconds: Second[];
  answer?: string;
  verdicts: Verdict[];
  queue: { id: string; experiment: string; planned: number }[];
}
export interface Run { id: string; experiment: string; started: string; status: string; trials: number; planned: number; quick: boolean; arms: string[] }
export interface Experiment { name: string; question: string; arms: string[]; rounds: number }
export interface Point { run: string; started: string; arm: string; cell: string; value: number; quick: boolean; partial: boolean }
export interface Ratio { metric: string; arm: string; cell: Record<string, unknown>; a: number; b: number; ratio: number; ci: [number, number]; decision: string; reason?: string; secondary?: boolean }
export interface Comparison {
  a: { id: string; experiment: string; started: string };
  b: { id: string; experiment: string; started: string };
  differences: { kind: string; what: string; arm?: string; a: string; b: string }[];
  refused: { arm: string; reason: string }[];
  ratios: Ratio[];
}

// ask gives an answer, or throws what the server says is wrong.
export async function ask<T>(path: string, post?: unknown): Promise<T> {
  const answer = await fetch(path, post === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(post) });
  if (answer.status === 401) {
    location.assign("/login");
    throw new Error("The login is over.");
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(body?.detail ?? `The server answers ${answer.status}.`);
  return body as T;
}

// broken says what is wrong in the place of what cannot be shown.
export function broken(place: HTMLElement, error: unknown): void {
  place.append(element("p", { class: "warning", role: "alert" }, error instanceof Error ? error.message : String(error)));
}

// when is a time of the reader's own zone.
export const when = (text: string): string => new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const cellText = (cell: Record<string, unknown>): string => Object.entries(cell).map(([path, value]) => `${path.split(".").pop()} = ${Number.isFinite(value) ? (value as number).toLocaleString("en") : String(value)}`).join(", ");

// duration is how long in words: 40 s, 3 min 20 s.
export function duration(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export const report = (id: string): string => `/runs/${encodeURIComponent(id)}/report`;
