import { printMaskThenSleep } from '../../e2e/rig/commands';
import type { ContainerSpec } from '../../e2e/rig/kubelet';

/** A container of the shared pool whose first line is its CPUs. */
export const shared = (name = 'web'): ContainerSpec => ({ name, cpuRequestMilli: 100, command: printMaskThenSleep });

/** A container with exclusive CPUs whose first line is its CPUs. */
export const pinned = (cpus: number, name = 'db'): ContainerSpec => ({ name, cpus, command: printMaskThenSleep });
