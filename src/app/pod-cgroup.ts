import { posix } from 'node:path';

/**
 * The pod's cgroup, which is the parent of the container's: `.../pod<uid>`, or `...-pod<uid>.slice` under systemd, where
 * the dashes of the uid are underscores. Undefined where the parent is something else, which then is not the pod's
 * alone.
 */
export function podCgroupOf(containerDir: string, podUid: string): string | undefined {
  const parent = posix.dirname(containerDir);
  const name = posix.basename(parent);
  const isPods = name === `pod${podUid}` || name.endsWith(`-pod${podUid.replaceAll('-', '_')}.slice`);
  return isPods && podUid !== '' ? parent : undefined;
}
