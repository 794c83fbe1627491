/** The names of cgroups when systemd is the cgroup driver of kubelet and runtime. */

/** The slice of a pod whose cgroup is `/kubepods[/qos]/pod<uid>` with the cgroupfs driver. */
export function nameSlice(cgroupParent: string): string {
  const parts = cgroupParent.split('/').filter((part) => part !== '');
  return `${parts.map((part) => part.replaceAll('-', '_')).join('-')}.slice`;
}

/** The path of a slice: `a-b.slice` is inside `a.slice`. */
function pathOfSlice(slice: string): string {
  const names = slice.replace(/\.slice$/, '').split('-');
  return names.map((_, index) => `/${names.slice(0, index + 1).join('-')}.slice`).join('');
}

/** The unit of a container, as containerd names it. */
export const nameScope = (containerId: string): string => `cri-containerd-${containerId}.scope`;

/** The one directory that containerd without SystemdCgroup makes of a unit, below its own cgroup. */
export const nameUnit = (slice: string, containerId: string): string => `/${slice}:cri-containerd:${containerId}`;

/** The cgroup of a container below this parent. `prefix`: the start of its name with the cgroupfs driver. */
export function cgroupPathOf(cgroupParent: string, containerId: string, prefix = ''): string {
  return cgroupParent.endsWith('.slice')
    ? `${pathOfSlice(cgroupParent)}/${nameScope(containerId)}`
    : `${cgroupParent}/${prefix}${containerId}`;
}
