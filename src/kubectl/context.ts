import type { Writable } from 'node:stream';
import type { CliContext } from '../cli/context';
import { showText } from '../core/show-text';

/** The environment of the plugin. */
export type PluginContext = Pick<CliContext, 'stdout' | 'stderr' | 'env' | 'signal' | 'version'>;

/** Longest message, since it may quote a value of any length. */
const MAX_COMPLAINT_LENGTH = 4_096;

/** Prints the faults, each on a line. */
export function complain(stderr: Writable, ...faults: readonly string[]): void {
  for (const fault of faults) stderr.write(`kubectl cpuset: ${showText(fault, MAX_COMPLAINT_LENGTH)}\n`);
}
