import type { RunningContainer } from '../../e2e/rig/container';
import type { RunningPod } from '../../e2e/rig/pod';

/** The slice that a kubelet with the systemd driver names for a pod whose cgroup is `/kubepods[/qos]/pod<uid>`. */
export function nameSlice(cgroupParent: string): string {
  const parts = cgroupParent.split('/').filter((part) => part !== '');
  return `${parts.map((part) => part.replaceAll('-', '_')).join('-')}.slice`;
}

/** Where systemd puts a slice: `a-b.slice` is inside `a.slice`. */
export function pathOfSlice(slice: string): string {
  const names = slice.replace(/\.slice$/, '').split('-');
  return names.map((_, index) => `/${names.slice(0, index + 1).join('-')}.slice`).join('');
}

/** The unit of a container, as containerd names it. */
export const scopeOf = ({ id }: RunningContainer): string => `cri-containerd-${id}.scope`;

/** Lets a pod in a slice know where its containers' cgroups really are: in scopes that systemd makes. */
export function locateContainers(pod: RunningPod): RunningPod {
  const create = pod.createContainer.bind(pod);
  pod.createContainer = async (name) => {
    const container = await create(name);
    return Object.assign(container, { cgroupPath: `${pathOfSlice(pod.cgroupParent)}/${scopeOf(container)}` });
  };
  return pod;
}
