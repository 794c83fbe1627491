import type { TimeZone } from './time-zone';

/** A number of a Node's annotations with the time it was measured at. */
export interface Figure {
  /** At least 0; may be Infinity. */
  readonly value: number;
  readonly stampMs: number;
}

/** The annotation with the hot value; that of a load figure has the metric's name. */
export const HOT_VALUE = 'node_hot_value';

/** A figure is valid for its period and this time. */
export const GRACE_MS = 300_000;

/** Longest annotation that is read; an infinite number and a stamp with fractions of a second are far shorter. */
const MAX_LENGTH = 256;
const MIN_STAMP_LENGTH = 5;

/** The annotation of a load figure: `<ratio>,<stamp>` with five decimals, such as `0.31250,2023-03-01T10:00:00Z`. */
export function formatFigure({ value, stampMs }: Figure, zone: TimeZone): string {
  return `${formatRatio(value)},${zone.format(stampMs)}`;
}

/** The annotation of a hot value: `<integer>,<stamp>`. */
export function formatHotValue({ value, stampMs }: Figure, zone: TimeZone): string {
  return `${Math.trunc(value)},${zone.format(stampMs)}`;
}

/**
 * Reads either; undefined for a text that crane-scheduler would not use. Whether it is still valid depends on the time:
 * see `isFresh`.
 */
export function readFigure(text: string | undefined, zone: TimeZone): Figure | undefined {
  if (text === undefined || text.length > MAX_LENGTH) return undefined;
  const parts = text.split(',');
  const [number = '', stamp = ''] = parts;
  if (parts.length !== 2 || stamp.length < MIN_STAMP_LENGTH) return undefined;
  const stampMs = zone.parse(stamp);
  const value = parseNumber(number);
  return stampMs === undefined || value === undefined || !(value >= 0) ? undefined : { value, stampMs };
}

/** True until `validForMs` and the grace have passed since the figure's stamp. */
export function isFresh({ stampMs }: Figure, validForMs: number, nowMs: number): boolean {
  return nowMs < stampMs + validForMs + GRACE_MS;
}

/**
 * Five decimals as Go's `FormatFloat(ratio, 'f', 5, 64)` writes them: a value exactly between two texts goes to the
 * even digit, where `toFixed` goes up.
 */
export function formatRatio(ratio: number): string {
  const sixtyFourths = ratio * 64;
  // Of doubles, only odd multiples of 1/64 lie exactly between two texts of five decimals.
  const isTie = Math.abs(sixtyFourths) < 2 ** 53 && Number.isInteger(sixtyFourths) && sixtyFourths % 2 !== 0;
  if (!isTie) return Math.abs(ratio) < 1e21 ? ratio.toFixed(5) : `${BigInt(ratio)}.00000`;
  const lower = Math.floor(ratio * 1e5);
  const even = lower % 2 === 0 ? lower : lower + 1;
  const digits = String(even).padStart(6, '0');
  return `${digits.slice(0, -5)}.${digits.slice(-5)}`;
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const INFINITE = /^\+?inf(?:inity)?$/i;

/** A number as Go's ParseFloat reads it, without its hexadecimal and underscore forms. */
function parseNumber(text: string): number | undefined {
  if (INFINITE.test(text)) return Infinity;
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined; // Go reports a number that is out of range as an error
}
