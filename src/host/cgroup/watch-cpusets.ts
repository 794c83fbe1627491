import { watch, type FSWatcher } from 'node:fs';
import { meaningOf } from '../../core/system-errors';
import { errnoOf, GONE, type Gone } from './cgroup-file';

export type WatchOutcome =
  | { readonly kind: 'watched' }
  | Gone
  /**
   * Only the sweep observes the cgroup. `isLimit`: the kernel has no watch left, so no other cgroup can be watched
   * either.
   */
  | { readonly kind: 'unwatched'; readonly isLimit: boolean; readonly because: string };

/** Watches cpusets for writes. Paths are below the root of the hierarchy, as in `Cgroups`. */
export interface CpusetWatch {
  /** Begins to watch the cgroup's `cpuset.cpus`; harmless when it is watched already. */
  add(cgroupPath: string): WatchOutcome;
  /** Ends the watch. Call it when a container has ended: the kernel does not report the removal of a cgroup. */
  remove(cgroupPath: string): void;
  close(): void;
}

export interface CpusetWatchOptions {
  /** A process, cpusetd included, wrote the cgroup's `cpuset.cpus`. Several writes in one turn are reported once. */
  readonly onChange: (cgroupPath: string) => void;
  /** A watch has broken: the cgroup is not watched any more, until it is added again. */
  readonly onLost: (cgroupPath: string, because: string) => void;
  /** For tests: `watch` of node:fs. */
  readonly watchFile?: typeof watch;
}

/**
 * Watches by inotify, which reports writes from user space to cgroup files of both versions. Changes by the kernel
 * itself (hotplug, a narrowed parent) are not reported; the periodic sweep covers those.
 */
export function watchCpusets(
  cpusetRoot: string,
  { onChange, onLost, watchFile = watch }: CpusetWatchOptions,
): CpusetWatch {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let scheduled = false;

  const report = (): void => {
    scheduled = false;
    const cgroupPaths = [...changed];
    changed.clear();
    for (const cgroupPath of cgroupPaths) if (watchers.has(cgroupPath)) onChange(cgroupPath);
  };

  const remove = (cgroupPath: string): void => {
    watchers.get(cgroupPath)?.close();
    watchers.delete(cgroupPath);
    changed.delete(cgroupPath);
  };

  const begin = (cgroupPath: string): void => {
    const watcher = watchFile(`${cpusetRoot}${cgroupPath}/cpuset.cpus`, { persistent: false }, () => {
      changed.add(cgroupPath);
      if (!scheduled) setImmediate(report);
      scheduled = true;
    });
    watcher.on('error', (error) => {
      if (watchers.get(cgroupPath) !== watcher) return; // ended already
      remove(cgroupPath);
      onLost(cgroupPath, error.message);
    });
    watchers.set(cgroupPath, watcher);
  };

  return {
    add(cgroupPath) {
      if (watchers.has(cgroupPath)) return { kind: 'watched' };
      try {
        begin(cgroupPath);
        return { kind: 'watched' };
      } catch (error) {
        const errno = errnoOf(error);
        return errno === 'ENOENT' || errno === 'ENODEV' ? GONE : explainUnwatched(errno);
      }
    },
    remove,
    close() {
      for (const cgroupPath of [...watchers.keys()]) remove(cgroupPath);
    },
  };
}

function explainUnwatched(errno: string): WatchOutcome {
  const remedy = meaningOf('watch a file', errno);
  return {
    kind: 'unwatched',
    isLimit: remedy !== undefined,
    because: remedy === undefined ? `inotify: ${errno}` : `the kernel has no inotify watch left (${errno}); ${remedy}`,
  };
}
