import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sharesOfWeight } from '../../../src/host/usage/container-counters';
import type { ContainerCounters } from '../../../src/qos/usage/sample';
import { useTempDirs } from '../../state/support/temp-dir';
import { readStage, V1_MACHINE, V2_MACHINE, writeFiles, type Files } from './stage';

const makeDir = useTempDirs();
const PATH = '/kubepods.slice/kubepods-podx.slice/cri-containerd-c1.scope';
const known = { id: 'c1', cgroupPath: PATH, hasOwnCpus: false };

const V2: Files = {
  ...V2_MACHINE,
  [`cgroup${PATH}/cpu.stat`]:
    'usage_usec 7000\nuser_usec 6000\nsystem_usec 1000\nnr_periods 40\nnr_throttled 3\nthrottled_usec 900\nnr_bursts 0\n',
  [`cgroup${PATH}/cpu.weight`]: '39\n',
  [`cgroup${PATH}/cpu.max`]: '50000 100000\n',
  [`cgroup${PATH}/memory.current`]: '5000\n',
  [`cgroup${PATH}/memory.stat`]:
    'anon 100\nfile 4000\ninactive_anon 1\nactive_anon 99\ninactive_file 1500\nactive_file 2500\n',
  [`cgroup${PATH}/cgroup.procs`]: '11\n12\n',
  [`cgroup${PATH}/cgroup.threads`]: '11\n12\n13\n',
  'proc/11/schedstat': '5 100 1\n',
  'proc/12/schedstat': '5 20 1\n',
  'proc/13/schedstat': '5 3 1\n',
};
const V1: Files = {
  ...V1_MACHINE,
  [`cgroup/cpu,cpuacct${PATH}/cpuacct.usage`]: '7000000\n',
  [`cgroup/cpu,cpuacct${PATH}/cpu.stat`]: 'nr_periods 40\nnr_throttled 3\nthrottled_time 900000\n',
  [`cgroup/cpu,cpuacct${PATH}/cpu.shares`]: '998\n',
  [`cgroup/cpu,cpuacct${PATH}/cpu.cfs_quota_us`]: '50000\n',
  [`cgroup/cpu,cpuacct${PATH}/cpu.cfs_period_us`]: '100000\n',
  [`cgroup/memory${PATH}/memory.usage_in_bytes`]: '5000\n',
  [`cgroup/memory${PATH}/memory.stat`]: 'cache 4000\ninactive_file 7\ntotal_cache 4000\ntotal_inactive_file 1500\n',
  [`cgroup/cpuset${PATH}/cgroup.procs`]: '11\n12\n',
  [`cgroup/cpuset${PATH}/tasks`]: '11\n12\n13\n',
  ...Object.fromEntries(Object.entries(V2).filter(([name]) => name.endsWith('/schedstat'))),
};
const FULL = {
  cpuNs: 7_000_000,
  runQueueNs: 120,
  throttledNs: 900_000,
  throttledPeriods: 3,
  periods: 40,
  shares: 998,
  quotaUs: 50_000,
  periodUs: 100_000,
  workingSetBytes: 3500,
};

/** The counters of the container without their time, or the reason why there are none; undefined when it is gone. */
async function read(files: Files, container = known, without: readonly string[] = []) {
  const root = makeDir();
  writeFiles(root, files);
  for (const name of without) rmSync(join(root, name), { recursive: true });
  const { sample, unread } = await readStage(root, { containers: [container] });
  const found = sample.containers.get('c1');
  return found ? withoutTime(found) : unread.get('c1');
}

function withoutTime({ monotonicNs: _, ...rest }: ContainerCounters) {
  return rest;
}

describe.each([
  {
    version: 2,
    files: V2,
    cpu: `cgroup${PATH}`,
    tasks: `cgroup${PATH}`,
    memory: `cgroup${PATH}`,
    threads: 'cgroup.threads',
  },
  {
    version: 1,
    files: V1,
    cpu: `cgroup/cpu,cpuacct${PATH}`,
    tasks: `cgroup/cpuset${PATH}`,
    memory: `cgroup/memory${PATH}`,
    threads: 'tasks',
  },
])('version $version', ({ version, files, cpu, tasks, memory, threads }) => {
  const timeFile = version === 1 ? `${cpu}/cpuacct.usage` : `${cpu}/cpu.stat`;
  const memoryFile = `${memory}/${version === 1 ? 'memory.usage_in_bytes' : 'memory.current'}`;
  const inactive = version === 1 ? 'total_inactive_file' : 'inactive_file';
  const { throttledNs: _1, throttledPeriods: _2, periods: _3, ...UNLIMITED } = FULL;
  const { workingSetBytes: _4, ...NO_MEMORY } = FULL;
  const { runQueueNs: _5, ...NO_QUEUE } = FULL;

  test('all counters of a container', async () => {
    expect(await read(files)).toEqual(FULL);
  });

  test('of a container with CPUs of its own all threads count', async () => {
    expect(await read(files, { ...known, hasOwnCpus: true })).toEqual({ ...FULL, runQueueNs: 123 });
  });

  test('a container without a quota has no time of throttling', async () => {
    const none: Files =
      version === 1 ? { [`${cpu}/cpu.cfs_quota_us`]: '-1\n' } : { [`${cpu}/cpu.max`]: 'max 100000\n' };
    expect(await read({ ...files, ...none })).toEqual({ ...UNLIMITED, quotaUs: -1 });
  });

  test('the working set is never below 0', async () => {
    expect(await read({ ...files, [`${memory}/memory.stat`]: `cache 1\n${inactive} 5001\n` })).toEqual({
      ...FULL,
      workingSetBytes: 0,
    });
  });

  test.each`
    name                               | text
    ${'no line of inactive pages'}     | ${'cache 4000\n'}
    ${'only a line that ends like it'} | ${`x_inactive_file 5\nxtotal_inactive_file 5\n`}
    ${'a word instead of the number'}  | ${'inactive_file many\ntotal_inactive_file many\n'}
  `('no working set: $name', async ({ text }: { text: string }) => {
    expect(await read({ ...files, [`${memory}/memory.stat`]: text })).toEqual(NO_MEMORY);
  });

  test('without memory files the rest is read', async () => {
    expect(await read(files, known, [memoryFile])).toEqual(NO_MEMORY);
  });

  test('processes of cgroups below count', async () => {
    const below = { [`${tasks}/inner/cgroup.procs`]: '14\n', [`${tasks}/inner/${threads}`]: '14\n15\n' };
    const stats = { 'proc/14/schedstat': '1 1000 1\n', 'proc/15/schedstat': '1 50000 1\n' };
    expect(await read({ ...files, ...below, ...stats })).toEqual({ ...FULL, runQueueNs: 1120 });
    expect(await read({ ...files, ...below, ...stats }, { ...known, hasOwnCpus: true })).toEqual({
      ...FULL,
      runQueueNs: 51_123,
    });
  });

  test('a process that has ended meanwhile counts nothing', async () => {
    expect(await read(files, known, ['proc/11'])).toEqual({ ...FULL, runQueueNs: 20 });
  });

  test.each`
    name                                    | list
    ${'processes of another PID namespace'} | ${'0\n11\n'}
    ${'more processes than are looked at'}  | ${Array.from({ length: 1001 }, (_, i) => `${i + 1}\n`).join('')}
  `('no time in the run queue: $name', async ({ list }: { list: string }) => {
    expect(await read({ ...files, [`${tasks}/cgroup.procs`]: list })).toEqual(NO_QUEUE);
  });

  test('a thousand processes are looked at', async () => {
    const list = Array.from({ length: 1000 }, (_, i) => `${i + 1}\n`).join('');
    expect(await read({ ...files, [`${tasks}/cgroup.procs`]: list })).toEqual({ ...FULL, runQueueNs: 123 });
  });

  test('no time in the run queue when there are very many cgroups below', async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`${tasks}/n${i}/cgroup.procs`, '\n']));
    expect(await read({ ...files, ...many })).toEqual(NO_QUEUE);
  });

  test('a container that is gone is left out, without a fault', async () => {
    expect(await read(files, { ...known, cgroupPath: `${PATH}-gone` })).toBeUndefined();
  });

  test.each`
    name               | text
    ${'a word'}        | ${'much\n'}
    ${'an empty file'} | ${''}
    ${'a sign'}        | ${version === 1 ? '-5\n' : 'usage_usec -5\n'}
  `('a CPU time that is not understood is told with its file: $name', async ({ text }: { text: string }) => {
    expect(await read({ ...files, [timeFile]: text })).toMatch(
      /(cpuacct\.usage|cpu\.stat): read ".*"; .* is expected$/,
    );
  });

  test('a controller that is off is told', async () => {
    expect(await read(files, known, [timeFile])).toMatch(/reading failed: ENOENT, the controller is not enabled/);
  });
});

test('version 1 without cpuacct: no container can be read, and the reason is told', async () => {
  expect(await read(V1, known, ['cgroup/cpu,cpuacct/cpuacct.usage'])).toMatch(/cpuacct controller is not mounted/);
});

test('version 1 with cpuacct in a hierarchy of its own', async () => {
  const apart = Object.fromEntries(
    Object.entries(V1).map(([name, text]) => [
      name.endsWith('cpuacct.usage') ? name.replace('cpu,cpuacct', 'cpuacct') : name.replace('cpu,cpuacct', 'cpu'),
      text,
    ]),
  );
  expect(await read(apart)).toEqual(FULL);
});

test.each`
  weight   | shares
  ${1}     | ${2}
  ${39}    | ${998}
  ${40}    | ${1024}
  ${100}   | ${2597}
  ${10000} | ${262144}
  ${0}     | ${2}
`('a weight of $weight are $shares shares', ({ weight, shares }: { weight: number; shares: number }) => {
  expect(sharesOfWeight(weight)).toBe(shares);
});

test('containers with CPUs of their own come first when more threads exist than one reading looks at', async () => {
  const root = makeDir();
  const ids = Array.from({ length: 1000 }, (_, i) => `${i + 1}\n`).join('');
  const names = [...Array.from({ length: 21 }, (_, i) => `shared${i}`), 'own'];
  writeFiles(root, V2_MACHINE);
  for (const name of names)
    writeFiles(root, {
      [`cgroup/${name}/cpu.stat`]: 'usage_usec 1\n',
      [`cgroup/${name}/cgroup.procs`]: ids,
      [`cgroup/${name}/cgroup.threads`]: ids,
    });
  const containers = names.map((name) => ({ id: name, cgroupPath: `/${name}`, hasOwnCpus: name === 'own' }));
  const { sample } = await readStage(root, { containers });
  const counted = [...sample.containers].flatMap(([id, { runQueueNs }]) => (runQueueNs === undefined ? [] : [id]));
  expect(counted).toEqual(['own', ...names.slice(0, 19)]);
  expect(sample.containers.size).toBe(22);
});

test('others have a turn while a container with many threads is read', async () => {
  const root = makeDir();
  writeFiles(root, V2);
  const order: string[] = [];
  const reading = readStage(root, { containers: [{ ...known, hasOwnCpus: true }], sliceMs: 0 });
  for (let turn = 1; turn <= 3; turn++) setImmediate(() => order.push(`turn ${turn}`));
  await reading.then(() => order.push('read'));
  expect(order).toEqual(['turn 1', 'turn 2', 'turn 3', 'read']);
});

test('a folder in the place of a file is a value that is not there', async () => {
  const root = makeDir();
  writeFiles(root, V2);
  rmSync(join(root, `cgroup${PATH}/cpu.weight`));
  mkdirSync(join(root, `cgroup${PATH}/cpu.weight`));
  const { sample } = await readStage(root, { containers: [known] });
  expect(sample.containers.get('c1')).toMatchObject({ cpuNs: 7_000_000, quotaUs: 50_000 });
  expect(sample.containers.get('c1')).not.toHaveProperty('shares');
});
