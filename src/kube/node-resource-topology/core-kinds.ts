import type { CoreKind } from '../../core/topology';

/**
 * The attribute of a NodeResourceTopology, of both kinds, that names the CPUs of each kind of cores. Schedulers do not
 * read it.
 */
export const CORE_KINDS_ATTRIBUTE = 'cpusetd.io/core-kinds';

/** `performance=0-11 efficiency=12-19`, the fastest first. */
export function formatCoreKinds(kinds: readonly CoreKind[]): string {
  return kinds.map(({ name, cpus }) => `${name}=${cpus.toString()}`).join(' ');
}
