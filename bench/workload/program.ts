import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../test/e2e/rig/project-root';

/** Compiles the programs of the bench. Throws when that can't be done; the reason is on standard error. */
export function compileProgram(target: string): void {
  const script = join(projectRoot(), 'bench/workload/compile.mjs');
  execFileSync(process.execPath, [script, target], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The iterations that take so many µs on this machine, on a CPU that nothing else uses. */
export const calibrate = (program: string, us: number): number =>
  Number(execFileSync(program, ['calibrate', String(us)], { encoding: 'utf8' }));

/** Times are in ns of CLOCK_MONOTONIC. */
interface Span {
  readonly fromNs: number;
  readonly toNs: number;
}

/** The last line of `serve`. */
export interface Served {
  readonly requests: Span & { readonly responseNs: readonly number[] };
  readonly work: Span & { readonly units: number };
}

/** A line of `burn`: units of work that were done at this time. */
export interface Progress {
  readonly ns: number;
  readonly units: number;
}

/**
 * Units that a burner did in a span, between the lines of progress around it. Throws when they do not reach around it.
 */
export function unitsWithin(lines: readonly Progress[], { fromNs, toNs }: Span): number {
  return unitsAt(lines, toNs) - unitsAt(lines, fromNs);
}

function unitsAt(lines: readonly Progress[], ns: number): number {
  const next = lines.findIndex((line) => line.ns >= ns);
  const [before, after] = [lines[next - 1], lines[next]];
  if (!before || !after) throw new Error('a neighbour had no progress around the measurement');
  return before.units + ((after.units - before.units) * (ns - before.ns)) / (after.ns - before.ns);
}
