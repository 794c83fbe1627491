import { silentFaults } from '../support/faults';
import { Onlooker, readLiveCpusets } from '../../src/app/observe';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import type { ContainerInfo, ContainerPhase } from '../../src/core/model/events';
import type { Container } from '../../src/core/model/container';
import type { Seen } from '../../src/core/verdict/observation';
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

test.each`
  name                                | effective | active
  ${'lacks CPUs: what could it have'} | ${'2'}    | ${'0-2,4-7'}
  ${'has them all: nobody asks'}      | ${'2-3'}  | ${undefined}
`('a container that $name', ({ effective, active }: { effective: string; active: string | undefined }) => {
  const container = {
    ...containerIn('running'),
    placement: 'shared',
    promise: { cpus: parseCpuList('2-3'), mems: CpuSet.empty },
  } as unknown as Container;
  const cgroups = {
    readCpuset: () => ({
      kind: 'found',
      cpus: parseCpuList('2-3'),
      effectiveCpus: parseCpuList(effective),
      mems: CpuSet.empty,
    }),
    readActive: () => parseCpuList('0-2,4-7'),
  } as unknown as Cgroups;
  const seen = new Onlooker(cgroups, silentFaults())
    .look([container], { before: () => undefined })
    .get('running') as Seen;
  expect(seen.active?.toString()).toBe(active);
});

test('a sweep looks at the threads of eight containers, the next one at those of the next eight, and then it begins again', () => {
  const sampled: string[] = [];
  const cpus = parseCpuList('0-3');
  const cgroups = {
    readCpuset: () => ({ kind: 'found', cpus, effectiveCpus: cpus, mems: CpuSet.empty }),
    listThreads: (dir: string) => (sampled.push(dir), { kind: 'found', threads: [{ allowed: cpus }] }),
  } as unknown as Cgroups;
  const containers = Array.from({ length: 20 }, (_, n) => ({
    ...containerIn('running'),
    id: String(n),
    cgroupsPath: `/kubepods/pod1/${n}`,
    placement: 'shared',
    promise: { cpus, mems: CpuSet.empty },
  })) as unknown as Container[];
  const onlooker = new Onlooker(cgroups, silentFaults());
  const ids = containers.map(({ id }) => id);
  const sweep = (sample = true): number[] => {
    sampled.length = 0;
    onlooker.look(containers, { before: () => undefined, ...(sample && { sampled: onlooker.chooseSampled(ids) }) });
    return sampled.map((dir) => Number(dir.split('/').pop()));
  };
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
  expect([sweep(), sweep(), sweep(), sweep()]).toEqual([range(0, 8), range(8, 16), range(16, 20), range(0, 8)]);
  expect(sweep(false)).toEqual([]);
});
