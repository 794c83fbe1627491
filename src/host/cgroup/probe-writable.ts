import { accessSync, closeSync, constants, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from './cgroup-file';

/** True when cpuset files can be written, else the reason. */
export type Writability = { readonly writable: true } | { readonly writable: false; readonly because: string };

/**
 * Checks without a change that cpuset files can be written: opens one for writing and closes it again. (Writing its own
 * value back could undo a write by others in between. Opening already fails on a read-only mount, without the
 * capability, or by a security module.)
 *
 * The root's own file is never writable, so the file of a child is tried, the kubelet's first. On a node without any
 * child the access to the root directory decides.
 */
export function probeWritable(cpusetRoot: string): Writability {
  for (const directory of listChildren(cpusetRoot)) {
    const path = join(cpusetRoot, directory, 'cpuset.cpus');
    const errno = errnoOfTrying(() => closeSync(openSync(path, 'r+')));
    // The cgroup was removed, or has no cpuset controller on version 2: another one must show it.
    if (errno !== 'ENOENT' && errno !== 'ENODEV') return toWritability(path, errno);
  }
  return toWritability(
    cpusetRoot,
    errnoOfTrying(() => accessSync(cpusetRoot, constants.W_OK)),
  );
}

/** The kubelet's first. */
function listChildren(cpusetRoot: string): string[] {
  const directories = readdirSync(cpusetRoot, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const isKubelets = (name: string): number => Number(name.startsWith('kubepods'));
  return directories.map(({ name }) => name).sort((a, b) => isKubelets(b) - isKubelets(a));
}

function errnoOfTrying(action: () => void): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return errnoOf(error);
  }
}

function toWritability(path: string, errno: string | undefined): Writability {
  if (errno === undefined) return { writable: true };
  return {
    writable: false,
    because: `${path} cannot be opened for writing (${errno}): mount the node's cgroups writable and run as root, or set --cgroup-writes off`,
  };
}
