import { CHANGED, UNCHANGED, type CgroupFiles, type WriteOutcome } from './cgroup-file';
import { writeFailureOf } from './cpuset-files';
import type { Hierarchies } from './find-hierarchies';
import type { CgroupPlace } from './locate-container';

const MAX_PROCS_BYTES = 1024 * 1024;

/**
 * Moves a container's processes back into its cpuset cgroup, on version 1. When the last CPU of a cpuset goes offline,
 * the kernel moves its processes to the parent for good; the other hierarchies still show where they belong. The cpuset
 * must have CPUs again. On version 2 nothing moves.
 */
export function reclaimTasks(
  files: CgroupFiles,
  { version, cpusetRoot, cpuRoot }: Hierarchies,
  { path: cgroupPath, cpuPath }: CgroupPlace,
): WriteOutcome {
  if (version === 2 || cpuRoot === undefined) return UNCHANGED;
  const path = `${cpusetRoot}${cgroupPath}/cgroup.procs`;
  const present = files.readLines(path, MAX_PROCS_BYTES);
  if ('kind' in present) return writeFailureOf(present);
  if (present.lines.length > 0) return UNCHANGED; // the kernel moves all or none
  const strayed = files.readLines(`${cpuRoot}${cpuPath}/cgroup.procs`, MAX_PROCS_BYTES);
  if ('kind' in strayed) return writeFailureOf(strayed);
  let outcome: WriteOutcome = UNCHANGED;
  let refused: WriteOutcome | undefined;
  for (const pid of strayed.lines) {
    const moved = files.write(path, pid);
    if (moved.kind === 'ok') outcome = CHANGED;
    else if (moved.kind === 'gone') return moved;
    else if (moved.errno !== 'ESRCH') refused ??= moved; // ESRCH: it has ended
  }
  return refused ?? outcome;
}
