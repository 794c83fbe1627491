// Kubernetes' quantities: a decimal number with a suffix, like 1500m, 2, 1.5, 64Gi, 1e3. See the resource package of
// k8s.io/apimachinery for the grammar. Two texts are the same quantity when their values are.

const SUFFIXES: Readonly<Record<string, readonly [base: bigint, exponent: number]>> = {
  n: [10n, -9],
  u: [10n, -6],
  m: [10n, -3],
  '': [10n, 0],
  k: [10n, 3],
  M: [10n, 6],
  G: [10n, 9],
  T: [10n, 12],
  P: [10n, 15],
  E: [10n, 18],
  Ki: [2n, 10],
  Mi: [2n, 20],
  Gi: [2n, 30],
  Ti: [2n, 40],
  Pi: [2n, 50],
  Ei: [2n, 60],
};

/** The value in billionths, rounded up as Kubernetes does; undefined for a text that is no quantity. */
export function parseQuantity(text: unknown): bigint | undefined {
  const written = typeof text === 'number' ? String(text) : text;
  if (typeof written !== 'string' || written.length > 64) return undefined;
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$/.exec(written);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const [base, power] = exponent === undefined ? SUFFIXES[suffix]! : ([10n, Number(exponent)] as const);
  const numerator = BigInt(whole + fraction) * 10n ** 9n * base ** BigInt(Math.max(0, power));
  const denominator = 10n ** BigInt(fraction.length) * base ** BigInt(Math.max(0, -power));
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
