import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

import { ContainerState, type Container, type PodSandbox } from '../../gen/nri/v1alpha1/nri';
import { makeSubject } from './messages';

/** The folder of the real kernel's cpusets. */
export const CGROUP_ROOT = '/sys/fs/cgroup';

/** Running shared containers: cgroups of the real kernel, without processes, and the runtime's messages about them. */
export interface SharedContainers {
  readonly pods: readonly PodSandbox[];
  readonly containers: readonly Container[];
  /** `cpuset.cpus` of the last one. */
  lastCpus(): string;
  remove(): void;
}

/** Makes cgroups on all CPUs of the machine, `name` below the root of the hierarchy. Needs root. */
export function makeSharedContainers(name: string, count: number, machine: string): SharedContainers {
  const isV2 = existsSync(`${CGROUP_ROOT}/cgroup.controllers`);
  const root = isV2 ? CGROUP_ROOT : `${CGROUP_ROOT}/cpuset`;
  const made: string[] = [];
  const make = (path: string): void => {
    mkdirSync(root + path);
    made.push(root + path);
    writeFileSync(`${root}${path}/cpuset.cpus`, machine);
    writeFileSync(`${root}${path}/cpuset.mems`, '0');
  };
  const parent = `/${name}`;
  make(parent);
  if (isV2) writeFileSync(`${root}${parent}/cgroup.subtree_control`, '+cpuset');
  const subjects = Array.from({ length: count }, (_, i) => {
    const { pod, container } = makeSubject('shared', 1_000_000 + i);
    const cgroupsPath = `${parent}/${container.id}`;
    make(cgroupsPath);
    container.state = ContainerState.CONTAINER_RUNNING;
    container.linux!.cgroupsPath = cgroupsPath;
    container.linux!.resources!.cpu!.cpus = machine;
    return { pod, container };
  });
  return {
    pods: subjects.map(({ pod }) => pod),
    containers: subjects.map(({ container }) => container),
    lastCpus: () => readFileSync(`${made.at(-1)!}/cpuset.cpus`, 'utf8').trim(),
    remove: () => made.reverse().forEach((path) => rmdirSync(path)),
  };
}
