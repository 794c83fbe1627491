const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * The milliseconds of a duration as Go's ParseDuration reads it, such as `3m`, `1h30m`, `1.5s`; undefined for another
 * text.
 */
export function parseGoDuration(text: string): number | undefined {
  if (text.length > 64) return undefined;
  const [, sign, amounts = ''] = /^([+-]?)(.*)$/.exec(text) ?? [];
  if (amounts === '0') return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(amounts)) return undefined;
  let sumMs = 0;
  for (const [, amount, unit] of amounts.matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g))
    sumMs += Number(amount) * UNITS_MS[unit!]!;
  return sign === '-' ? -sumMs : sumMs;
}

/** The duration as people write it, such as `1h30m`; of less than a second in milliseconds. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const parts = [
    [3_600_000, 'h'],
    [60_000, 'm'],
    [1_000, 's'],
    [1, 'ms'],
  ] as const;
  let left = ms;
  return parts
    .map(([unitMs, unit]) => {
      const count = Math.floor(left / unitMs);
      left -= count * unitMs;
      return count === 0 ? '' : `${count}${unit}`;
    })
    .join('');
}
