import { parseCpuList } from '../../../src/core/cpuset';
import type { Assignment } from '../../../src/core/model/assignment';

/** An assignment like those of the daemon, with this container and these CPUs. */
export function assignmentOf(containerName: string, cpus: string, more: Partial<Assignment> = {}): Assignment {
  return {
    podUid: '7d5c9a52-1a63-4a71-9f3e-6f0f5f1f2b11',
    podNamespace: 'default',
    podName: 'web-0',
    containerName,
    kind: 'static',
    cpus: parseCpuList(cpus),
    mems: parseCpuList('0'),
    requested: parseCpuList(cpus).size,
    containerId: `id-of-${containerName}`,
    quotaLifted: true,
    rules: { policy: 'static', options: ['full-pcpus-only'], reserved: parseCpuList('0') },
    because: 'Guaranteed pod asks for whole CPUs: whole cores of NUMA node 0',
    since: '2026-11-21T09:30:00Z',
    ...more,
  };
}
