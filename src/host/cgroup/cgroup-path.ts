import { posix } from 'node:path';
import { expandSlice } from '../../core/inference/kubepods';
import { shorten } from '../../core/text';

/** The path of a container's cgroup below the root of a hierarchy; it begins with a slash. */
export type CgroupPath =
  { readonly kind: 'path'; readonly path: string } | { readonly kind: 'refused'; readonly because: string };

const MAX_LENGTH = 4096; // PATH_MAX
/** Longest path in a message. */
const MAX_QUOTED = 120;

/**
 * Maps the `cgroupsPath` of an OCI spec to the directory that the runtime makes of it.
 *
 * - cgroupfs driver: an absolute path, `/kubepods/burstable/pod<uid>/<id>`, taken as it is;
 * - systemd driver: `<slice>:<prefix>:<name>`. systemd nests slices by the dashes in their names, so
 *   `a-b.slice:cri-containerd:1` becomes `/a.slice/a-b.slice/cri-containerd-1.scope`. An empty slice is
 *   `system.slice`, `-.slice` is the root, and a name that ends in `.slice` gets neither prefix nor `.scope`.
 *
 * The result never leaves the hierarchy: a path with an element `.` or `..`, or a relative one, is refused.
 */
export function cgroupPathOf(cgroupsPath: string): CgroupPath {
  if (cgroupsPath === '') return refuse(cgroupsPath, 'it is empty');
  if (cgroupsPath.length > MAX_LENGTH) return refuse(cgroupsPath, `it is longer than ${MAX_LENGTH} characters`);
  if (/[\u0000-\u001f\u007f]/.test(cgroupsPath)) return refuse(cgroupsPath, 'it contains control characters');
  if (cgroupsPath.startsWith('/')) return plainPath(cgroupsPath);
  const parts = cgroupsPath.split(':');
  if (parts.length !== 3)
    return refuse(cgroupsPath, 'it is neither an absolute path nor of the form slice:prefix:name');
  return systemdPath(cgroupsPath, parts[0]!, parts[1]!, parts[2]!);
}

/**
 * Maps a pod's `cgroup_parent` of the CRI to its directory: a path is taken as it is, a slice is nested by the dashes
 * in its name.
 */
export function cgroupPathOfParent(cgroupParent: string): CgroupPath {
  if (!cgroupParent.endsWith('.slice') || cgroupParent.startsWith('/')) return cgroupPathOf(cgroupParent);
  const within = cgroupPathOf(`${cgroupParent}::any`);
  return within.kind === 'refused' ? within : { kind: 'path', path: posix.dirname(within.path) };
}

function plainPath(cgroupsPath: string): CgroupPath {
  const elements = cgroupsPath.split('/').filter((element) => element !== '');
  if (elements.length === 0) return refuse(cgroupsPath, 'it is the root of the hierarchy, which is no container');
  if (elements.some(isDots)) return refuse(cgroupsPath, 'it contains "." or ".." as an element');
  return { kind: 'path', path: `/${elements.join('/')}` };
}

function systemdPath(cgroupsPath: string, slice: string, prefix: string, name: string): CgroupPath {
  if (cgroupsPath.includes('/')) return refuse(cgroupsPath, 'names of systemd units have no slash');
  if (name === '') return refuse(cgroupsPath, 'the name of the unit is empty');
  const parent = expandSlice(slice === '' ? 'system.slice' : slice);
  if (parent === undefined) {
    return refuse(
      cgroupsPath,
      `"${shorten(slice, MAX_QUOTED)}" is no name of a slice: it must end in .slice and have no empty part between dashes`,
    );
  }
  if (name.endsWith('.slice')) return { kind: 'path', path: `${parent}/${name}` };
  return { kind: 'path', path: `${parent}/${prefix === '' ? name : `${prefix}-${name}`}.scope` };
}

function isDots(element: string): boolean {
  return element === '.' || element === '..';
}

function refuse(cgroupsPath: string, why: string): CgroupPath {
  return {
    kind: 'refused',
    because: `cgroups path ${JSON.stringify(shorten(cgroupsPath, MAX_QUOTED))} cannot be used: ${why}`,
  };
}
