import { parseArgs } from 'node:util';

export interface BenchArguments {
  /** A few seconds, to prove that it works; the figures mean little then. */
  readonly quick: boolean;
  /** The bundle that is measured, instead of dist/cpusetd.js. */
  readonly bundle: string | undefined;
  /** A second bundle that is measured in turns with it. */
  readonly before: string | undefined;
  /** True for a part of the bench that was named; for all parts when none was. */
  readonly isWanted: (part: string) => boolean;
}

/** Arguments of the benches of the daemon. Throws TypeError for others. */
export function readArguments(): BenchArguments {
  const { values, positionals } = parseArgs({
    options: { quick: { type: 'boolean' }, bundle: { type: 'string' }, before: { type: 'string' } },
    allowPositionals: true,
  });
  return {
    quick: values.quick ?? false,
    bundle: values.bundle,
    before: values.before,
    isWanted: (part) => positionals.length === 0 || positionals.includes(part),
  };
}
