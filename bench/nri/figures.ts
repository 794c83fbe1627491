import { cpus, loadavg, release } from 'node:os';

/** The value that this share of all values is not above; 0.5 is the median. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Milliseconds that the act takes, awaited or not. */
export async function timeMs(act: () => unknown): Promise<number> {
  const startMs = performance.now();
  await act();
  return performance.now() - startMs;
}

/** `12`, `1.20`: three digits are all that these measurements are good for. */
function show(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Prints rows of figures under their names. */
export function printTable(
  title: string,
  rows: Readonly<Record<string, Readonly<Record<string, number | string>>>>,
): void {
  const texts = Object.entries(rows).map(([name, row]) => [
    name,
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [key, typeof value === 'number' ? show(value) : value]),
    ),
  ]);
  console.log(`\n${title}`);
  console.table(Object.fromEntries(texts));
}

/** What figures depend on, in one line; on a machine that is busy with other things only ratios say something. */
export function printMachine(): void {
  const all = cpus();
  const load = loadavg()[0]!.toFixed(1);
  console.log(
    `${all.length} CPUs (${all[0]?.model.trim() ?? '?'}), Linux ${release()}, Node ${process.version}, load ${load}`,
  );
}
