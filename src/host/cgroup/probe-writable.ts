import { accessSync, closeSync, constants, existsSync, openSync, readdirSync } from 'node:fs';
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
  const path = findProbe(cpusetRoot);
  try {
    if (path === undefined) accessSync(cpusetRoot, constants.W_OK);
    else closeSync(openSync(path, 'r+'));
    return { writable: true };
  } catch (error) {
    const errno = errnoOf(error);
    return {
      writable: false,
      because: `${path ?? cpusetRoot} cannot be opened for writing (${errno}): mount the node's cgroups writable and run as root, or set --cgroup-writes off`,
    };
  }
}

function findProbe(cpusetRoot: string): string | undefined {
  const folders = readdirSync(cpusetRoot, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort((a, b) => Number(b.startsWith('kubepods')) - Number(a.startsWith('kubepods')));
  return folders.map((name) => join(cpusetRoot, name, 'cpuset.cpus')).find((path) => existsSync(path));
}
