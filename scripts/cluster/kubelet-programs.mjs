// The kubelet of each kind of node: that of the control plane's release, or one that is a minor release older, as in a
// cluster during an upgrade.
import { join } from 'node:path';
import { ensureGoPrograms } from '../go-programs/build.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** The module of scripts/go-programs with the control plane, and with the kubelets of most nodes. */
const newest = 'kubernetes';
/** The modules of the other kubelets, by the suite of their nodes. @type {Partial<Record<string, string>>} */
const older = { trixie: 'kubernetes-1.36' };

/** The modules that have a kubelet of some node. */
export const kubeletModules = [...new Set([newest, ...Object.values(older).flatMap((name) => name ?? [])])];

/**
 * Gives the kubelet of nodes of this suite, and builds it when the cache has none.
 * @param {string} suite
 * @param {EnsureOptions} [options]
 * @returns {{ program: string, version: string }} program: its path
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureKubelet(suite, options) {
  const { dir, versions } = ensureGoPrograms(older[suite] ?? newest, options);
  return { program: join(dir, 'kubelet'), version: versions['kubelet'] ?? 'unknown' };
}
