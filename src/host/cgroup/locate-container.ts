import { posix } from 'node:path';
import { existsSync } from 'node:fs';
import { cgroupPathOf } from './cgroup-path';
import type { CgroupFiles } from './cgroup-file';
import type { Hierarchies } from './find-hierarchies';

/** All that is known of a container's cgroup before it is looked for. */
export interface ContainerToLocate {
  readonly id: string;
  /** As in the OCI spec. */
  readonly cgroupsPath: string;
  /** Its first process, in the PID namespace of the node; absent = not known. */
  readonly pid?: number;
}

/** The place of a container, below the roots of the hierarchies. */
export interface CgroupPlace {
  readonly path: string;
  /**
   * The path in the hierarchies other than that of cpusets. It differs on version 1 where the runtime makes containers
   * below its own cgroup, which systemd keeps in some of the hierarchies only.
   */
  readonly cpuPath: string;
}

export type Located =
  | ({
      readonly kind: 'found';
      /** The path that its `cgroupsPath` stands for, where it is elsewhere. */
      readonly expected?: string;
    } & CgroupPlace)
  /** `because` is a sentence that names the place. */
  | { readonly kind: 'absent'; readonly because: string }
  | { readonly kind: 'refused'; readonly because: string };

/**
 * Finds the cgroup of a container: where the kernel has its first process, else where a runtime makes it. Every path is
 * checked to be there.
 *
 * A runtime whose driver is cgroupfs takes the `slice:prefix:name` of a kubelet whose driver is systemd for a relative
 * path: it makes one directory of that name, below its own cgroup or beside it.
 *
 * The path of a process counts up to the element that has the container's id: a container can make cgroups and move its
 * processes only below its own.
 */
export function locateContainer(
  files: CgroupFiles,
  hierarchies: Hierarchies,
  procRoot: string,
  { id, cgroupsPath, pid }: ContainerToLocate,
): Located {
  const { cpusetRoot } = hierarchies;
  const named = cgroupPathOf(cgroupsPath);
  const expected = named.kind === 'path' ? named.path : undefined;
  const found = (place: CgroupPlace): Located => ({
    kind: 'found',
    ...place,
    ...(expected !== undefined && place.path !== expected && { expected }),
  });

  const ofProcess = pid === undefined ? undefined : placeOfProcess(files, hierarchies, `${procRoot}/${pid}/cgroup`, id);
  if (ofProcess && existsSync(cpusetRoot + ofProcess.path)) return found(ofProcess);
  const others = isUnit(cgroupsPath) ? [`/${cgroupsPath}`, `/system.slice/${cgroupsPath}`] : [];
  for (const path of [...(expected === undefined ? [] : [expected]), ...others])
    if (existsSync(cpusetRoot + path)) return found({ path, cpuPath: path });
  if (named.kind === 'refused') return named;
  const why =
    others.length > 0
      ? `nor at ${others[0]!}; kubelet and runtime seem to use different cgroup drivers`
      : 'the runtime keeps it elsewhere, as one that runs virtual machines does';
  return { kind: 'absent', because: `its cgroup is not at ${named.path}${others.length > 0 ? ', ' : '; '}${why}` };
}

/** Enough for all hierarchies of version 1, with paths of ordinary length. */
const MAX_BYTES = 64 * 1024;

/** The place that the kernel names for a process; undefined where the container's id is not in it. */
function placeOfProcess(
  files: CgroupFiles,
  { version }: Hierarchies,
  procFile: string,
  id: string,
): CgroupPlace | undefined {
  const read = files.readLines(procFile, MAX_BYTES);
  if ('kind' in read) return undefined;
  const pathOf = (controller: string): string | undefined => {
    for (const line of read.lines) {
      const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
      if (controllers === undefined || path === undefined) continue;
      const isThis = version === 2 ? controllers === '' : controllers.split(',').includes(controller);
      if (isThis) return cutAfter(Buffer.from(path, 'latin1').toString('utf8'), id); // lines are bytes
    }
    return undefined;
  };
  const path = pathOf('cpuset');
  return path === undefined ? undefined : { path, cpuPath: pathOf('cpu') ?? path };
}

/** The path up to the first element that is named after the container. */
function cutAfter(path: string, id: string): string | undefined {
  if (id === '' || /[\u0000-\u001f\u007f]/.test(path)) return undefined;
  const elements = path.split('/');
  if (elements.some((element) => element === '.' || element === '..')) return undefined;
  const last = elements.findIndex((element) => isNamedAfter(element, id));
  return last === -1 ? undefined : posix.normalize(elements.slice(0, last + 1).join('/'));
}

/** `<id>`, `crio-<id>`, `cri-containerd-<id>.scope`, `kubepods-….slice:cri-containerd:<id>` */
function isNamedAfter(element: string, id: string): boolean {
  const name = element.endsWith('.scope') ? element.slice(0, -'.scope'.length) : element;
  return name === id || name.endsWith(`-${id}`) || name.endsWith(`:${id}`);
}

/** True for `slice:prefix:name` that can be one directory. */
function isUnit(cgroupsPath: string): boolean {
  return /^[^/:]*\.slice:[^/:]*:[^/:]+$/.test(cgroupsPath) && cgroupPathOf(`/${cgroupsPath}`).kind === 'path';
}
