import { readLiveCpusets } from '../../src/app/observe';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import type { ContainerInfo, ContainerPhase } from '../../src/core/model/events';
import type { Cgroups } from '../../src/host';

const containerIn = (phase: ContainerPhase): ContainerInfo => ({
  id: phase,
  sandboxId: 'sandbox',
  name: phase,
  phase,
  cgroupsPath: `/kubepods/pod1/${phase}`,
  resources: {},
});

test('only the cpuset of a running container is live: the cgroup of another one is not set yet, or no longer its own', () => {
  const cpus = parseCpuList('2-3');
  const cgroups = {
    readCpuset: () => ({ kind: 'found', cpus, effectiveCpus: cpus, mems: CpuSet.empty }),
  } as unknown as Cgroups;
  const phases: ContainerPhase[] = ['creating', 'created', 'starting', 'running', 'exited'];
  expect([...readLiveCpusets(cgroups, phases.map(containerIn))]).toEqual([['running', cpus]]);
});
