import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cpusetDirOf } from '../../e2e/rig';

/**
 * The cgroup of a container: the folder below the root with its id as the name, on CRI-O `crio-<id>`. CRI-O's conmon
 * has one beside it.
 * @throws when there is none: the container does not run
 */
export function findCgroup(root: string, id: string): string {
  const find = (path: string): string | undefined => {
    const folders = readdirSync(cpusetDirOf(path), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const own = folders.find(({ name }) => name === id || name === `crio-${id}`);
    if (own !== undefined) return join(path, own.name);
    for (const { name } of folders) {
      const found = find(join(path, name));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const found = id === '' ? undefined : find(root);
  if (found === undefined) throw new Error(`no cgroup of container ${id || '(none)'} below ${root}`);
  return found;
}
