import { watch, type FSWatcher } from 'node:fs';
import { errnoOf } from './cgroup-file';

export type WatchOutcome =
  | { readonly kind: 'watched' }
  /** There is no such cgroup. */
  | { readonly kind: 'gone' }
  /** The kernel has no watch left for us; the cgroup is only looked at by the sweep. */
  | { readonly kind: 'unwatched'; readonly because: string };

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
  /** Told once, when the first cgroup could not be watched for want of inotify watches. */
  readonly onDegraded: (because: string) => void;
}

/**
 * Watches by inotify, which works on cgroup files of both versions for writes from user space. What the kernel
 * changes by itself (hotplug, a narrowed parent) is not told: the sweep is the net.
 */
export function watchCpusets(cpusetRoot: string, { onChange, onDegraded }: CpusetWatchOptions): CpusetWatch {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let scheduled = false;
  let degraded = false;

  const tell = (): void => {
    scheduled = false;
    const dirs = [...changed];
    changed.clear();
    for (const dir of dirs) if (watchers.has(dir)) onChange(dir);
  };

  const unwatched = (dir: string, errno: string): WatchOutcome => {
    const because =
      `${cpusetRoot}${dir}/cpuset.cpus cannot be watched (${errno}): foreign writes are noticed by the periodic sweep only; ` +
      `raise fs.inotify.max_user_watches and fs.inotify.max_user_instances`;
    if (!degraded) onDegraded(because);
    degraded = true;
    return { kind: 'unwatched', because };
  };

  const remove = (dir: string): void => {
    watchers.get(dir)?.close();
    watchers.delete(dir);
    changed.delete(dir);
  };

  return {
    add(dir) {
      if (watchers.has(dir)) return { kind: 'watched' };
      try {
        const watcher = watch(`${cpusetRoot}${dir}/cpuset.cpus`, { persistent: false }, () => {
          changed.add(dir);
          if (!scheduled) setImmediate(tell);
          scheduled = true;
        });
        watcher.on('error', () => remove(dir));
        watchers.set(dir, watcher);
        return { kind: 'watched' };
      } catch (error) {
        const errno = errnoOf(error);
        return errno === 'ENOENT' || errno === 'ENODEV' ? { kind: 'gone' } : unwatched(dir, errno);
      }
    },
    remove,
    close() {
      for (const dir of [...watchers.keys()]) remove(dir);
    },
  };
}
