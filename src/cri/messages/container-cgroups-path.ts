import { posix } from 'node:path';

/**
 * Prefixes of the container's id in the name of its cgroup, by runtime: `unit` under systemd, `folder` under cgroupfs.
 */
const NAMES: Readonly<Record<string, { readonly unit: string; readonly folder: string }>> = {
  containerd: { unit: 'cri-containerd', folder: '' },
  'cri-o': { unit: 'crio', folder: 'crio-' },
  docker: { unit: 'docker', folder: '' },
};

/**
 * The `cgroupsPath` that the runtime of this name gives to a container, in the form of the OCI spec. The answer to
 * CreateContainer does not contain it. Undefined for an unknown runtime.
 *
 * After containerd's getCgroupsPath and CRI-O's ContainerCgroupPath.
 */
export function nameCgroupsPath(runtimeName: string, cgroupParent: string, containerId: string): string | undefined {
  const names = NAMES[runtimeName];
  if (names === undefined || cgroupParent === '') return undefined;
  const parent = posix.basename(cgroupParent);
  if (parent.endsWith('.slice')) return `${parent}:${names.unit}:${containerId}`;
  return posix.join(cgroupParent, `${names.folder}${containerId}`);
}
