export type Level = 'ok' | 'warning' | 'error';

/** The condition of one part of the node. */
export interface PartSummary {
  readonly part: string;
  readonly level: Level;
  readonly text: string;
  /** The remedy; absent where nothing is to be done. */
  readonly remedy?: string;
}

/** A drift or a gap that is not longer ago is a warning, put right or not: it may come again. */
const LATELY_MS = 3_600_000;

export function wasLately(at: string, nowMs: number): boolean {
  return nowMs - Date.parse(at) <= LATELY_MS;
}

/** Maximum number of names in one text. */
export const MAX_NAMES = 3;
