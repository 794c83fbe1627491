import { readable } from '../../support/container-cgroups';
import { silentFaults } from '../../support/faults';
import { ContainerObserver, readLiveCpusets } from '../../../src/app/cgroups/container-observer';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { ContainerInfo, ContainerPhase } from '../../../src/core/model/events';
import type { Container } from '../../../src/core/model/container';
import type { Seen } from '../../../src/core/verdict/observation';
import type { Cgroups } from '../../../src/host';

const containerIn = (phase: ContainerPhase): ContainerInfo => ({
  id: phase,
  sandboxId: 'sandbox',
  name: phase,
  phase,
  cgroupsPath: `/kubepods/pod1/${phase}`,
  resources: {},
});

test('only running containers have a live cpuset', () => {
  const cpus = parseCpuList('2-3');
  const cgroups = {
    readCpuset: () => ({ kind: 'found', cpus, effectiveCpus: cpus, mems: CpuSet.empty }),
  } as unknown as Cgroups;
  const phases: ContainerPhase[] = ['creating', 'created', 'starting', 'running', 'exited'];
  expect([...readLiveCpusets(readable(cgroups), phases.map(containerIn))]).toEqual([['running', cpus]]);
});

test.each`
  version | own      | live
  ${1}    | ${'0-3'} | ${[]}
  ${1}    | ${'2-3'} | ${[['running', '2-3']]}
  ${2}    | ${'0-3'} | ${[['running', '0-3']]}
  ${2}    | ${''}    | ${[['running', '']]}
`('cgroup v$version, parent 0-3, own CPUs "$own": live $live', ({ version, own, live }) => {
  const [cpus, parent] = [own as string, '0-3'].map(parseCpuList);
  const cgroups = {
    version,
    readCpuset: () => ({ kind: 'found', cpus, effectiveCpus: cpus, mems: CpuSet.empty }),
    readCpus: (dir: string) => ({ kind: dir === '/kubepods/pod1' ? 'found' : 'gone', cpus: parent }),
  } as unknown as Cgroups;
  const found = [...readLiveCpusets(readable(cgroups), [containerIn('running')])];
  expect(found.map(([id, list]) => [id, list.toString()])).toEqual(live);
});

test.each`
  name                                             | effective | active
  ${'lacks CPUs: the CPUs of the parent are read'} | ${'2'}    | ${'0-2,4-7'}
  ${'has all its CPUs: the parent is not read'}    | ${'2-3'}  | ${undefined}
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
  const seen = new ContainerObserver(readable(cgroups), silentFaults())
    .observe([container], { before: () => undefined })
    .get('running') as Seen;
  expect(seen.active?.toString()).toBe(active);
});

describe('CFS quotas', () => {
  const cpus = parseCpuList('2-3');
  const error = (errno: string) => ({ kind: 'error', errno, because: `${errno}: no` });
  const found = { kind: 'found', quotaUs: 200_000, periodUs: 100_000 };

  function observe(more: Partial<Container>, readings: { readonly own: unknown; readonly pod: unknown }): Seen {
    const container = {
      ...containerIn('running'),
      podUid: '1',
      placement: 'exclusive',
      promise: { cpus, mems: CpuSet.empty },
      ...more,
    } as unknown as Container;
    const cgroups = {
      readCpuset: () => ({ kind: 'found', cpus, effectiveCpus: cpus, mems: CpuSet.empty }),
      readQuota: (dir: string) => (dir.endsWith('/running') ? readings.own : readings.pod),
    } as unknown as Cgroups;
    return new ContainerObserver(readable(cgroups), silentFaults())
      .observe([container], { before: () => undefined })
      .get('running') as Seen;
  }

  test.each`
    name                                                  | more                                             | own                  | pod                  | quota        | podQuota     | unread
    ${'both quotas are read'}                                    | ${{}}                                            | ${found}             | ${found}             | ${200_000}   | ${200_000}   | ${undefined}
    ${'no file: no quota'}             | ${{}}                                            | ${{ kind: 'gone' }} | ${{ kind: 'gone' }} | ${undefined} | ${undefined} | ${undefined}
    ${'no cpu controller: no quota'}            | ${{}}                                            | ${error('ENODEV')}   | ${error('ENODEV')}   | ${undefined} | ${undefined} | ${undefined}
    ${'an unreadable quota of the container is named'}             | ${{}}                                            | ${error('EIO')}      | ${found}             | ${undefined} | ${200_000}   | ${['container']}
    ${'an unreadable quota of the pod is named'}                           | ${{}}                                            | ${found}             | ${error('EACCES')}   | ${200_000}   | ${undefined} | ${['pod']}
    ${'quotas of a shared container are not read'}                   | ${{ placement: 'shared' }}                       | ${found}             | ${found}             | ${undefined} | ${undefined} | ${undefined}
    ${'quotas of a shared container with quota as-asked are read'}     | ${{ placement: 'shared', quota: 'as-asked' }}    | ${found}             | ${error('EIO')}      | ${200_000}   | ${undefined} | ${['pod']}
  `('$name', ({ more, own, pod, quota, podQuota, unread }) => {
    const seen = observe(more as Partial<Container>, { own, pod });
    expect([seen.quota?.quotaUs, seen.podQuota?.quotaUs, seen.unread?.map(({ scope }) => scope)]).toEqual([
      quota,
      podQuota,
      unread,
    ]);
  }); // prettier-ignore
});

test('each sweep reads the threads of the next eight containers, and starts again after the last one', () => {
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
  const observer = new ContainerObserver(readable(cgroups), silentFaults());
  const ids = containers.map(({ id }) => id);
  const sweep = (sample = true): number[] => {
    sampled.length = 0;
    observer.observe(containers, { before: () => undefined, ...(sample && { sampled: observer.chooseSampled(ids) }) });
    return sampled.map((dir) => Number(dir.split('/').pop()));
  };
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
  expect([sweep(), sweep(), sweep(), sweep()]).toEqual([range(0, 8), range(8, 16), range(16, 20), range(0, 8)]);
  expect(sweep(false)).toEqual([]);
});
