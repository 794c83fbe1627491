import { printMaskThenSleep } from '../../e2e/rig/commands';
import type { ContainerSpec } from '../../e2e/rig/kubelet';

/** A container of the shared pool that says first of all where it runs. */
export const shared = (name = 'web'): ContainerSpec => ({ name, cpuRequestMilli: 100, command: printMaskThenSleep });

/** A container that is entitled to CPUs of its own, and says first of all where it runs. */
export const pinned = (cpus: number, name = 'db'): ContainerSpec => ({ name, cpus, command: printMaskThenSleep });
