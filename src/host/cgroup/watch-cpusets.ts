import { watch, type FSWatcher } from 'node:fs';
import { meaningOf } from '../../core/system-errors';
import { errnoOf } from './cgroup-file';

export type WatchOutcome =
  | { readonly kind: 'watched' }
  /** There is no such cgroup. */
  | { readonly kind: 'gone' }
  /** The cgroup is only looked at by the sweep. `isLimit`: the kernel has no watch left for anybody, so no other can be had either. */
  | { readonly kind: 'unwatched'; readonly isLimit: boolean; readonly because: string };

/** Watches cpusets for writes. Directories are below the root of the hierarchy, as elsewhere. */
export interface CpusetWatch {
  /** Begins to watch the cgroup's `cpuset.cpus`; harmless when it is watched already. */
  add(dir: string): WatchOutcome;
  /** Ends it. The kernel does not tell when a cgroup goes: whoever knows that a container ended says so here. */
  remove(dir: string): void;
  close(): void;
}

export interface CpusetWatchOptions {
  /** Somebody, ourselves included, wrote the cgroup's `cpuset.cpus`. Several writes in one turn are told once. */
  readonly onChange: (dir: string) => void;
  /** A watch has broken: the cgroup is not watched any more, until it is added again. */
  readonly onLost: (dir: string, because: string) => void;
  /** For tests: `watch` of node:fs. */
  readonly watchFile?: typeof watch;
}

/**
 * Watches by inotify, which works on cgroup files of both versions for writes from user space. What the kernel
 * changes by itself (hotplug, a narrowed parent) is not told: the sweep is the net.
 */
export function watchCpusets(
  cpusetRoot: string,
  { onChange, onLost, watchFile = watch }: CpusetWatchOptions,
): CpusetWatch {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let scheduled = false;

  const tell = (): void => {
    scheduled = false;
    const dirs = [...changed];
    changed.clear();
    for (const dir of dirs) if (watchers.has(dir)) onChange(dir);
  };

  const remove = (dir: string): void => {
    watchers.get(dir)?.close();
    watchers.delete(dir);
    changed.delete(dir);
  };

  const begin = (dir: string): void => {
    const watcher = watchFile(`${cpusetRoot}${dir}/cpuset.cpus`, { persistent: false }, () => {
      changed.add(dir);
      if (!scheduled) setImmediate(tell);
      scheduled = true;
    });
    watcher.on('error', (error) => {
      if (watchers.get(dir) !== watcher) return; // ended already
      remove(dir);
      onLost(dir, error.message);
    });
    watchers.set(dir, watcher);
  };

  return {
    add(dir) {
      if (watchers.has(dir)) return { kind: 'watched' };
      try {
        begin(dir);
        return { kind: 'watched' };
      } catch (error) {
        const errno = errnoOf(error);
        return errno === 'ENOENT' || errno === 'ENODEV' ? { kind: 'gone' } : explainUnwatched(errno);
      }
    },
    remove,
    close() {
      for (const dir of [...watchers.keys()]) remove(dir);
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
