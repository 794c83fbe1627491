// The programs of a cluster, in the cache.
import { ensureGoPrograms } from '../go-programs/build.mjs';
import { installCommands } from '../shared/host-commands.mjs';
import { ensureDebianPrograms } from './debian-programs.mjs';
import { ensureImageParts } from './image-parts.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** Commands of the host that are needed, and the Debian or Ubuntu package that brings each. */
const hostCommands = { openssl: 'openssl', ip: 'iproute2', setpriv: 'util-linux', faketime: 'faketime' };

/**
 * Gets all of them ready: the host's commands, Kubernetes, etcd, Prometheus and what the image is made of.
 * @param {EnsureOptions} options
 * @returns {Record<string, string>} versions, by program
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensureCluster({ env = process.env, log = () => {} } = {}) {
  installCommands(hostCommands, log);
  ensureImageParts({ env, log });
  return { ...ensureGoPrograms('kubernetes', { env, log }).versions, ...ensureDebianPrograms({ env, log }).versions };
}
