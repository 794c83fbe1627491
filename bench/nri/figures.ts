import { cpus, loadavg, release } from 'node:os';
import { percentile } from '../../test/support/percentile';

/** The middle value. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Milliseconds that the act takes, awaited or not. */
export async function timeMs(act: () => unknown): Promise<number> {
  const startMs = performance.now();
  await act();
  return performance.now() - startMs;
}

/** Three digits, such as `12.3` or `1.20`: these measurements are not more exact. */
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

/** Prints the facts that figures depend on, in one line. On a busy machine only ratios have a meaning. */
export function printMachine(): void {
  const all = cpus();
  const load = loadavg()[0]!.toFixed(1);
  console.log(
    `${all.length} CPUs (${all[0]?.model.trim() ?? '?'}), Linux ${release()}, Node ${process.version}, load ${load}`,
  );
}
