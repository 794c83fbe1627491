import { listChildren, type CgroupFailure, type CgroupFiles, type Gone } from './cgroup-file';

export type IdsReading =
  | {
      readonly kind: 'found';
      readonly ids: readonly string[];
      /** There are more than `maxIds`, or more cgroups than are looked at. */
      readonly more: boolean;
      /** Ids of another PID namespace, which the kernel lists as 0: cpusetd runs without the node's PID namespace. */
      readonly hidden: number;
    }
  | Gone
  | CgroupFailure;

export interface IdsQuery {
  /** `tasks` or `cgroup.threads` for threads, `cgroup.procs` for processes. */
  readonly listFile: string;
  readonly maxIds: number;
  readonly maxDirectories?: number;
}

/** An id has at most 7 digits. */
const BYTES_PER_ID = 8;

/** The ids of threads or processes of a cgroup and of the cgroups below it. */
export function listIds(
  files: CgroupFiles,
  directory: string,
  { listFile, maxIds, maxDirectories = 1000 }: IdsQuery,
): IdsReading {
  const ids: string[] = [];
  let hidden = 0;
  let more = false;
  const directories = [directory];
  for (let i = 0; i < directories.length && !more; i++) {
    const list = files.readLines(`${directories[i]!}/${listFile}`, (maxIds + 1) * BYTES_PER_ID);
    if ('kind' in list) {
      if (i === 0) return list;
      continue; // a child that was removed meanwhile
    }
    more = list.more;
    for (const id of list.lines) {
      if (id === '0') hidden++;
      else if (ids.length >= maxIds) more = true;
      else ids.push(id);
    }
    const children = listChildren(directories[i]!);
    const room = maxDirectories - directories.length;
    more ||= children.length > room;
    directories.push(...children.slice(0, room));
  }
  return { kind: 'found', ids, more, hidden };
}
