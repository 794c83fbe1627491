import { type sendUnaryData, status, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import { loadConfig } from '../../../src/app/config';
import { collectFacts } from '../../../src/cli/check/collect-facts';
import type { NodeFacts } from '../../../src/cli/check/facts';
import { judgeFacts } from '../../../src/cli/check/judge-facts';
import { serveRuntime } from '../../cri/client/fake-runtime';
import { loadMachine, writeTree } from '../../support/sysfs-tree';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();

/** Facts of this machine, with a kubelet, sockets, /proc and /etc in a folder. */
async function factsOf(files: Readonly<Record<string, string>>, flags: Readonly<Record<string, string>> = {}) {
  const root = makeDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  for (const name of ['proc', 'etc', 'kubelet']) mkdirSync(join(root, name), { recursive: true });
  const given = {
    'kubelet-root-dir': join(root, 'kubelet'),
    'state-dir': join(root, 'not/made/yet'),
    'nri-socket': join(root, 'nri.sock'),
    'cri-endpoint': join(root, 'cri.sock'),
    'admin-socket': join(root, 'admin.sock'),
    'reserved-cpus': '0',
    ...flags,
  };
  const loaded = await loadConfig({
    flags: Object.fromEntries(Object.entries(given).map(([name, text]) => [name, [text]])),
    env: {},
  });
  if (!loaded.ok) throw new Error(loaded.problems.join());
  const facts = await collectFacts(loaded.config, { procRoot: join(root, 'proc'), etcRoot: join(root, 'etc') });
  return { facts, root };
}

/** The files by which cgroups of version 1 are known. */
const V1 = { 'cgroup/cpuset/cpuset.cpus': '0-7\n', 'cgroup/cpuset/tasks': '' };

const STATIC = '{"policyName":"static","defaultCpuSet":"0-1","checksum":1}';

test('a bare machine: sockets are absent, and nothing is known of the kubelet', async () => {
  const { facts, root } = await factsOf({});
  expect(facts).toMatchObject({
    mode: 'nri',
    optionProblems: [],
    machine: { ok: true },
    nri: { path: join(root, 'nri.sock'), presence: 'absent' },
    cri: { presence: 'absent' },
    admin: { presence: 'absent' },
    kubelet: { state: 'missing' },
    managers: [],
    stateDir: { path: join(root, 'not/made/yet') },
  });
  expect(facts.reserved.toString()).toBe('0');
  expect(facts).toMatchObject({
    seesHost: false,
    irqbalance: false,
    programs: { node: process.version, hasFlock: true },
  });
  for (const name of ['runtime', 'hostAffinity', 'tuned', 'inotify']) expect(facts).not.toHaveProperty(name);
  expect(facts.kubelet).not.toHaveProperty('config');
});

test('the kubelet: its state file, its configuration where it usually is, and the driver in it', async () => {
  const { facts } = await factsOf({
    'kubelet/cpu_manager_state': STATIC,
    'kubelet/config.yaml':
      'kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "0"\ncgroupDriver: systemd\n',
  });
  expect(facts.kubelet).toMatchObject({
    state: 'static',
    config: {
      read: { ok: true, value: { cpuManagerPolicy: 'static', reservedSystemCpus: '0', cgroupDriver: 'systemd' } },
    },
  });
});

test.each([
  ['kind: Pod', 'it is not a KubeletConfiguration'],
  ['a: [', expect.any(String)],
  ['kind: KubeletConfiguration\nkubeReserved: { cpu: -1 }', expect.stringContaining('negative')],
])('a configuration that can not be used has the reason: %j', async (text, because) => {
  const { facts } = await factsOf({ 'kubelet/config.yaml': text });
  expect(facts.kubelet.config!.read).toEqual({ ok: false, because });
});

test.each([
  ['{"policyName":"none"}', 'none'],
  ['garbage', 'foreign'],
  ['{"policyName": "static", garbage', 'static'],
])('a state file %j is %s', async (text, state) => {
  expect((await factsOf({ 'kubelet/cpu_manager_state': text })).facts.kubelet.state).toBe(state);
});

test('the host: affinity of its first process, profile of tuned, limits of inotify, managers by their process', async () => {
  const { facts } = await factsOf({
    'proc/1/comm': 'runit\n',
    'proc/2/comm': 'kthreadd\n',
    'proc/9/comm': 'irqbalance\n',
    'proc/cmdline': 'quiet nohz_full=2-3 rcu_nocbs=2-3 rcu_nocb_poll\n',
    'proc/1/status': 'Name:\tsystemd\nCpus_allowed_list:\t0-1\n',
    'proc/77/comm': 'koordlet\n',
    'proc/sys/fs/inotify/max_user_watches': '512\n',
    'proc/sys/fs/inotify/max_user_instances': '8\n',
    'etc/tuned/active_profile': 'cpu-partitioning\n',
    'etc/tuned/cpu-partitioning-variables.conf': '# isolated_cores=1\nisolated_cores=2-7\n',
  });
  expect(facts).toMatchObject({
    seesHost: true,
    irqbalance: true,
    kernelParameters: ['nohz_full=2-3', 'rcu_nocbs=2-3'],
    tuned: { profile: 'cpu-partitioning', isolatedCores: '2-7' },
    inotify: { watches: 512, instances: 8 },
    managers: ['Koordinator (koordlet)'],
  });
  expect(facts.hostAffinity!.toString()).toBe('0-1');
});

test('the kubelet: files of --config-dir win over its configuration, in the order of their paths', async () => {
  const root = makeDir();
  const { facts } = await factsOf({
    'proc/9/comm': 'kubelet\n',
    'proc/9/cmdline': `kubelet\0--config-dir=${join(root, 'parts')}\0`,
    'kubelet/config.yaml':
      'kind: KubeletConfiguration\ncpuManagerPolicy: none\nkubeReserved: { cpu: 1, memory: 1Gi }\n',
  });
  expect(facts.kubelet.config!.read).toMatchObject({ ok: false, because: expect.stringContaining('ENOENT') });

  const parts = {
    '20-late.conf': 'kind: KubeletConfiguration\nkubeReserved: { cpu: 3 }\ncgroupDriver: cgroupfs\n',
    '10-early/a.conf': 'kind: KubeletConfiguration\ncpuManagerPolicy: static\nkubeReserved: { cpu: 2 }\n',
    'not.yaml': 'cpuManagerPolicy: none\n',
  };
  mkdirSync(join(root, 'parts/10-early'), { recursive: true });
  for (const [name, text] of Object.entries(parts)) writeFileSync(join(root, 'parts', name), text);
  const merged = await factsOf({
    'proc/9/comm': 'kubelet\n',
    'proc/9/cmdline': `kubelet\0--config-dir=${join(root, 'parts')}\0`,
    'kubelet/config.yaml':
      'kind: KubeletConfiguration\ncpuManagerPolicy: none\nkubeReserved: { cpu: 1, memory: 1Gi }\n',
  });
  expect(merged.facts.kubelet.config!.read).toMatchObject({
    ok: true,
    value: {
      cpuManagerPolicy: 'static',
      reservedMilliCpu: 3000,
      cgroupDriver: 'cgroupfs',
      reserved: { memory: 2 ** 30 },
    },
  });
});

test('interrupts: whether they are to be steered, and whether they can be', async () => {
  expect((await factsOf({})).facts.interrupts).toEqual({ areSteered: false, notWritable: 'there is no such folder' });
  const { facts } = await factsOf({ 'proc/irq/default_smp_affinity': 'ff\n' }, { 'irq-affinity': 'steer' });
  expect(facts.interrupts).toEqual({ areSteered: true });
});

test('the first process of a container says nothing of the host', async () => {
  const { facts } = await factsOf({ 'proc/1/comm': 'node\n', 'proc/1/status': 'Cpus_allowed_list:\t0\n' });
  expect(facts).not.toHaveProperty('hostAffinity');
});

test('a runtime that listens and does not speak CRI is told, and options that do not fit the machine are', async () => {
  const root = makeDir();
  const server = createServer((socket) => socket.destroy()).listen(join(root, 'cri.sock'));
  await once(server, 'listening');
  try {
    const { facts } = await factsOf({}, { 'cri-endpoint': join(root, 'cri.sock'), 'reserved-cpus': '60000' });
    expect(facts.cri!.presence).toBe('live');
    expect(facts.runtime).toEqual({ ok: false, because: expect.stringContaining('did not answer') });
    expect(facts.optionProblems).toEqual([expect.stringContaining('--reserved-cpus')]);
  } finally {
    server.close();
  }
});

describe('a runtime that answers some calls', () => {
  const answer = (value: unknown) => (_call: unknown, reply: sendUnaryData<unknown>) => reply(null, value);
  const version = { version: 'v1', runtimeName: 'containerd', runtimeVersion: '1.7.13', runtimeApiVersion: 'v1' };
  const rest = {
    Version: answer(version),
    ListContainers: answer({
      containers: [{ id: 'a', podSandboxId: 'p', metadata: { name: 'a' }, state: 'CONTAINER_RUNNING' }],
    }),
    ContainerStatus: answer({ status: { state: 'CONTAINER_RUNNING' }, info: {} }),
  };
  const failing = (_call: unknown, reply: sendUnaryData<unknown>) => reply({ code: status.UNKNOWN, details: 'no CNI' });

  test.each<[string, UntypedServiceImplementation, unknown]>([
    ['all', { Status: answer({ info: { config: '{"disableHugetlbController":false}' } }) }, 'reported'],
    ['Status with nothing', { Status: answer({ info: {} }) }, 'not-known'],
    ['all but Status, which fails', { Status: failing }, 'no CNI'],
    ['all but Status, which it has not', {}, 'Status'],
    ['all but Status, which is late', { Status: () => undefined }, 'Status'],
  ])('%s: its name, version and containers are known', async (_what, handlers, hugePages) => {
    const endpoint = join(makeDir(), 'cri.sock');
    const server = await serveRuntime(endpoint, { ...rest, ...handlers });
    try {
      const { facts } = await factsOf({}, { 'cri-endpoint': endpoint });
      expect(facts.runtime).toMatchObject({ ok: true, value: { name: 'containerd', version: '1.7.13' } });
      expect(facts.containers).toHaveLength(1);
      const { settings } = (facts.runtime as Extract<NodeFacts['runtime'], { ok: true }>).value;
      expect(settings.ok ? settings.value.hugePages : settings.because).toEqual(
        settings.ok ? hugePages : expect.stringContaining(hugePages as string),
      );
    } finally {
      server.forceShutdown();
    }
  });
});

test('a machine or cgroups that can not be read have the reason', async () => {
  const { facts } = await factsOf({}, { 'sysfs-root': '/nowhere', 'cgroup-root': '/nowhere' });
  expect(facts.machine).toMatchObject({ ok: false, because: expect.stringContaining('/nowhere') });
  expect(facts.cgroups).toEqual({ ok: false, because: expect.stringContaining('/nowhere') });
});

test('the command line of a kubelet that runs: the file that it names, and its flags', async () => {
  const dir = makeDir();
  writeFileSync(join(dir, 'its.yaml'), 'kind: KubeletConfiguration\ncontainerRuntimeEndpoint: unix:///a.sock\n');
  const args = ['/usr/bin/kubelet', `--config=${join(dir, 'its.yaml')}`, '--cpu-manager-policy', 'static', '--v=2'];
  const { facts } = await factsOf({
    'proc/31/comm': 'kubelet\n',
    'proc/31/cmdline': [
      ...args,
      '--reserved-cpus=0-1',
      '--kube-reserved=cpu=1',
      '--memory-manager-policy=Static',
      '',
    ].join('\0'),
    'kubelet/config.yaml': 'kind: KubeletConfiguration\n',
  });
  expect(facts.kubelet).toMatchObject({
    flags: { cpuManagerPolicy: 'static', memoryManagerPolicy: 'Static', reservedCpus: '0-1', reservesByFlag: true },
    config: { path: join(dir, 'its.yaml'), read: { ok: true, value: { runtimeEndpoint: 'unix:///a.sock' } } },
  });
});

test.each([
  [
    'narrowed',
    { 'cgroup/kubepods.slice/cpuset.cpus.effective': '0-5\n' },
    true,
    { cgroup: '/kubepods.slice', cpus: '0-5' },
  ],
  ['not narrowed', { 'cgroup/kubepods.slice/cpuset.cpus.effective': '0-7\n' }, true, undefined],
  ['without the controller', {}, false, undefined],
  [
    'without the controller, in a confined container',
    { 'cgroup/cpuset.cpus.effective': '0,7\n' },
    false,
    { cgroup: '/', cpus: '0,7' },
  ],
])('the cgroup of the pods: %s', async (_what, more, hasCpuset, bound) => {
  const root = makeDir();
  const files: Readonly<Record<string, string>> = {
    'cgroup/cgroup.controllers': 'cpuset cpu\n',
    'cgroup/cpuset.cpus.effective': '0-7\n',
    'cgroup/kubepods.slice/cgroup.procs': '',
    ...(hasCpuset && { 'cgroup/kubepods.slice/cpuset.cpus': '\n' }),
    ...more,
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  writeTree(root, loadMachine('1x4x2'));
  const { facts } = await factsOf({}, { 'cgroup-root': join(root, 'cgroup'), 'sysfs-root': join(root, 'sys') });
  if (!facts.cgroups.ok) throw new Error(facts.cgroups.because);
  const { pods, bound: judged } = facts.cgroups.value;
  expect(pods).toEqual({ cgroup: '/kubepods.slice', hasCpuset });
  expect(JSON.parse(JSON.stringify(judged))).toEqual({ ok: true, ...(bound && { bound }) });
});

test('huge pages, by size and memory nodes', async () => {
  const root = makeDir();
  writeTree(root, loadMachine('2x4x2-2numa'));
  const factsNow = async () => (await factsOf({}, { 'sysfs-root': join(root, 'sys') })).facts.machine;
  expect(await factsNow()).toMatchObject({ value: { hugePages: '' } });
  for (const [node, pages] of [
    ['node0', '2048kB'],
    ['node1', '2048kB'],
    ['node1', '1048576kB'],
  ] as const) {
    const directory = join(root, `sys/devices/system/node/${node}/hugepages/hugepages-${pages}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'nr_hugepages'), '4\n');
  }
  const hugePages = 'hugepages-2Mi on memory nodes 0-1, hugepages-1Gi on memory nodes 1';
  expect(await factsNow()).toMatchObject({ value: { hugePages } });
});

test.each([
  ['version 2 without it', { 'cgroup/cgroup.controllers': 'cpuset cpu\n' }, true],
  ['version 2 with it', { 'cgroup/cgroup.controllers': 'cpuset cpu hugetlb pids\n' }, undefined],
  ['version 1 where it is not mounted', { ...V1 }, true],
  ['version 1 with it', { ...V1, 'cgroup/hugetlb/tasks': '' }, undefined],
])('the cgroup controller of huge pages: %s', async (_what, files, lacksHugetlb) => {
  const root = makeDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { facts } = await factsOf({}, { 'cgroup-root': join(root, 'cgroup') });
  expect((facts.cgroups as Extract<NodeFacts['cgroups'], { ok: true }>).value.lacksHugetlb).toBe(lacksHugetlb);
});

test('cgroups without a list of CPUs: the bound of pods is not known', async () => {
  const root = makeDir();
  mkdirSync(join(root, 'cgroup'));
  writeFileSync(join(root, 'cgroup/cgroup.controllers'), 'cpuset cpu\n');
  const { facts } = await factsOf({}, { 'cgroup-root': join(root, 'cgroup') });
  expect(facts.cgroups).toMatchObject({ ok: true, value: { bound: { ok: false } } });
});

test.each([
  ['of the file, driver cgroupfs', { cgroupRoot: '/system' }, [], '/system/kubepods', 'cgroupfs'],
  ['of the file, driver systemd', { cgroupRoot: '/a-b' }, [], '/a_b.slice/a_b-kubepods.slice', 'systemd'],
  ['of a flag', { cgroupRoot: '/other' }, ['--cgroup-root=/system'], '/system/kubepods', 'cgroupfs'],
])('the cgroup root of the kubelet %s', async (_what, config, flags, cgroup, driver) => {
  const root = makeDir();
  mkdirSync(join(root, 'cgroup', cgroup), { recursive: true });
  writeFileSync(join(root, 'cgroup/cgroup.controllers'), 'cpuset cpu\n');
  const { facts } = await factsOf(
    {
      'proc/31/comm': 'kubelet\n',
      'proc/31/cmdline': ['/usr/bin/kubelet', ...flags, ''].join('\0'),
      'kubelet/config.yaml': JSON.stringify({ kind: 'KubeletConfiguration', ...config }),
    },
    { 'cgroup-root': join(root, 'cgroup') },
  );
  expect(facts.cgroups).toMatchObject({ ok: true, value: { driver, pods: { cgroup } } });
});

test('a kubelet’s configuration of several documents: the first counts, and that is said', async () => {
  const first = 'kind: KubeletConfiguration\nreservedCpus: "0"\nreservedSystemCPUs: "1"\n';
  const { facts, root } = await factsOf({
    'kubelet/config.yaml': `${first}---\nkind: KubeletConfiguration\nreservedSystemCPUs: "2"\n`,
  });
  const path = join(root, 'kubelet/config.yaml');
  expect(facts.kubelet.config).toMatchObject({
    read: { ok: true, value: { reservedSystemCpus: '1' } },
    remarks: [
      `${path} has several documents: the kubelet and cpusetd read the first`,
      `${path}: reservedCpus is no field of a KubeletConfiguration; it is reservedSystemCPUs`,
    ],
  });
});

test('a machine that can not be read: the remedy is said once, and no option is said to fit it', async () => {
  const { facts } = await factsOf({}, { 'sysfs-root': '/nowhere' });
  const shown = judgeFacts(facts).filter(({ check }) => check === 'options' || check === 'machine');
  expect(shown).toEqual([
    { check: 'options', level: 'ok', text: 'they are valid' },
    {
      check: 'machine',
      level: 'error',
      text: expect.not.stringContaining('--sysfs-root') as string,
      remedy: expect.stringContaining('--sysfs-root') as string,
    },
  ]);
});
