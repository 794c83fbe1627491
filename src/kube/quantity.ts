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

/** The value in billionths, rounded up as Kubernetes does; undefined for a text that is no quantity. */
export function parseQuantity(text: unknown): bigint | undefined {
  const written = typeof text === 'number' ? String(text) : text;
  if (typeof written !== 'string' || written.length > 64) return undefined;
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$/.exec(written);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0', suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const power = Number(exponent);
  const numerator = BigInt(whole + fraction) * BILLIONTHS[suffix]! * 10n ** BigInt(Math.max(0, power));
  const denominator = 10n ** BigInt(fraction.length + Math.max(0, -power));
  const value = divideUp(numerator, denominator);
  return sign === '-' ? -value : value;
}

/** Thousandths, rounded up: CPU as the kubelet counts it. Undefined when it is no quantity or not a safe integer. */
export function parseMilli(text: unknown): number | undefined {
  return toSafe(parseQuantity(text), 10n ** 6n);
}

/** Whole units, rounded up: bytes. Undefined when it is no quantity or not a safe integer. */
export function parseWhole(text: unknown): number | undefined {
  return toSafe(parseQuantity(text), 10n ** 9n);
}

function toSafe(billionths: bigint | undefined, unit: bigint): number | undefined {
  if (billionths === undefined || billionths < 0n) return undefined;
  const value = Number(divideUp(billionths, unit));
  return Number.isSafeInteger(value) ? value : undefined;
}

function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}
