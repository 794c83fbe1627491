import { sum } from '../core/sum';

// Kubernetes' quantities: a decimal number with a suffix, like 1500m, 2, 1.5, 64Gi, 1e3. See the resource package of
// k8s.io/apimachinery for the grammar. Two texts are the same quantity when their values are.

/** Billionths in a unit with this suffix. */
const BILLIONTHS: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 10n ** 3n,
  m: 10n ** 6n,
  '': 10n ** 9n,
  k: 10n ** 12n,
  M: 10n ** 15n,
  G: 10n ** 18n,
  T: 10n ** 21n,
  P: 10n ** 24n,
  E: 10n ** 27n,
  Ki: 10n ** 9n * 2n ** 10n,
  Mi: 10n ** 9n * 2n ** 20n,
  Gi: 10n ** 9n * 2n ** 30n,
  Ti: 10n ** 9n * 2n ** 40n,
  Pi: 10n ** 9n * 2n ** 50n,
  Ei: 10n ** 9n * 2n ** 60n,
};

/** A larger exponent of ten, either way, makes no difference: the text has 64 digits at most. */
const MAX_POWER = 200;

/** The value in billionths, rounded up as Kubernetes does; undefined for a text that is no quantity. */
export function parseQuantity(text: unknown): bigint | undefined {
  const written = typeof text === 'number' ? String(text) : text;
  if (typeof written !== 'string' || written.length > 64) return undefined;
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/.exec(written);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0', suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const power = Math.max(-MAX_POWER, Math.min(Number(exponent), MAX_POWER));
  const numerator = BigInt(whole + fraction) * BILLIONTHS[suffix]! * 10n ** BigInt(Math.max(0, power));
  const denominator = 10n ** BigInt(fraction.length + Math.max(0, -power));
  const value = divideUp(numerator, denominator);
  return sign === '-' ? -value : value;
}

/** The amount that stands for itself and all above it, which no machine has. */
export const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;

/**
 * Thousandths, rounded up: CPU as the kubelet counts it. At most `MAX_AMOUNT`: an amount that is too large is still
 * one. Undefined when it is no quantity, or negative.
 */
export function parseMilli(text: unknown): number | undefined {
  return toAmount(parseQuantity(text), 10n ** 6n);
}

/** Whole units, rounded up: bytes. At most `MAX_AMOUNT`. Undefined when it is no quantity, or negative. */
export function parseWhole(text: unknown): number | undefined {
  return toAmount(parseQuantity(text), 10n ** 9n);
}

function toAmount(billionths: bigint | undefined, unit: bigint): number | undefined {
  if (billionths === undefined || billionths < 0n) return undefined;
  return Math.min(Number(divideUp(billionths, unit)), MAX_AMOUNT);
}

/** A sum of amounts; at most `MAX_AMOUNT`. */
export function sumAmounts(amounts: readonly number[]): number {
  return Math.min(sum(amounts), MAX_AMOUNT);
}

function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}
