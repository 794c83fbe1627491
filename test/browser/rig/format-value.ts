import type { UnitId } from './drawn-panel';

/** At most three digits that count, as Grafana's units show them. */
export function formatValue(value: number, unit: UnitId): string {
  const digits = (amount: number, suffix: string) => `${Number(amount.toPrecision(3))}${suffix}`;
  if (unit === 'percentunit') return digits(value * 100, '%');
  if (unit === 'short') return Math.abs(value) >= 1000 ? digits(value / 1000, ' K') : digits(value, '');
  const scales = [
    [60, 1 / 60, ' mins'],
    [1, 1, ' s'],
    [1e-3, 1e3, ' ms'],
    [0, 1e6, ' µs'],
  ] as const;
  const [, factor, name] = scales.find(([from]) => Math.abs(value) >= from)!;
  return value === 0 ? '0 s' : digits(value * factor, name);
}
