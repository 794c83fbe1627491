import { printMaskThenHold, printMaskThenSleep } from '../../e2e/rig/commands';
import type { ContainerSpec } from '../../e2e/rig/kubelet';

/** A container of the shared pool whose first line is its CPUs. */
export const shared = (name = 'web'): ContainerSpec => ({ name, cpuRequestMilli: 100, command: printMaskThenSleep });

/** A container with exclusive CPUs whose first line is its CPUs. */
export const pinned = (cpus: number, name = 'db'): ContainerSpec => ({ name, cpus, command: printMaskThenSleep });

/**
 * The same, and its process holds this much memory in huge pages: the C library maps them itself. Its second line tells
 * that it has it. The spec has to ask for more: also what a process needs besides is taken from them.
 */
export const onHugePages = (cpus: number, bytes: number, name = 'db'): ContainerSpec => ({
  ...pinned(cpus, name),
  command: printMaskThenHold(bytes),
  env: { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=2' },
});
