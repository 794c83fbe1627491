import { accessSync, closeSync, constants, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from './cgroup-file';

/** Whether cpuset files can be written here. */
export type Writability = { readonly writable: true } | { readonly writable: false; readonly because: string };

/**
 * Finds out whether cpuset files can be written, without changing anything: it opens one for writing and closes it
 * again. (Writing its own value back could undo what someone wrote in between; and the usual obstacles, a read-only
 * mount, a missing capability, a security module, show when the file is opened.)
 *
 * The root's own file is never writable, so one of a child is taken, the kubelet's if there is one. On a node
 * without any child the root directory is asked.
 */
export function probeWritable(cpusetRoot: string): Writability {
  for (const directory of listChildren(cpusetRoot)) {
    const path = join(cpusetRoot, directory, 'cpuset.cpus');
    const errno = errnoOfTrying(() => closeSync(openSync(path, 'r+')));
    // Cgroups come and go, and version 2 has some without the controller: neither says anything about writing.
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
