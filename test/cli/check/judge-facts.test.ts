import type { NodeFacts } from '../../../src/cli/check/facts';
import type { RuntimeSettings } from '../../../src/cri/client';
import { judgeFacts } from '../../../src/cli/check/judge-facts';
import { parseCpuList } from '../../../src/core/cpuset';

const cpus = parseCpuList;
const live = (path: string) => ({ path, presence: 'live' }) as const;
const machine = {
  online: cpus('0-7'),
  offline: cpus(''),
  isolated: cpus(''),
  kinds: '',
  caches: '2 uncore caches',
  hugePages: '',
  ignored: [],
};
const kubeletConfig = (fields: object) => ({
  path: '/k/config.yaml',
  read: { ok: true as const, value: { cpuManagerPolicy: 'none' as const, reservedMilliCpu: 0, ...fields } },
});

const runtime = (name: string, version: string, hugePages: RuntimeSettings['hugePages'] = 'dropped') =>
  ({ ok: true, value: { name, version, settings: { ok: true, value: { hugePages } } } }) as const;

/** A node on which everything is fine. */
const FINE: NodeFacts = {
  mode: 'nri',
  optionProblems: [],
  machine: { ok: true, value: machine },
  reserved: cpus('0-1'),
  nri: live('/nri.sock'),
  cri: live('/cri.sock'),
  runtime: runtime('containerd', 'v2.1.9'),
  readsSpecs: false,
  admin: { path: '/admin.sock', presence: 'absent' },
  kubelet: {
    statePath: '/k/cpu_manager_state',
    state: 'none',
    config: kubeletConfig({ reservedSystemCpus: '0,1', cgroupDriver: 'systemd' }),
  },
  cgroups: {
    ok: true,
    value: { version: 2, driver: 'systemd', pods: { cgroup: '/kubepods.slice', hasCpuset: true } },
  },
  seesHost: true,
  managers: [],
  irqbalance: false,
  onUnanswered: 'allow',
  interrupts: { areSteered: false, notWritable: 'read-only file system' },
  hostAffinity: cpus('0-7'),
  tuned: { profile: 'throughput-performance' },
  kernelParameters: [],
  inotify: { watches: 100_000, instances: 128 },
  stateDir: { path: '/state', isInMemory: false, freeBytes: 2 ** 30 },
  state: { use: 'good', text: '/state/state.json: good' },
  programs: { node: 'v20.1.0', hasFlock: true },
};

test.each<[string, NonNullable<NodeFacts['containers']>, string[]]>([
  ['none runs', [], []],
  [
    'all are in place',
    [{ id: 'a', cgroup: { kind: 'found', path: '/k/a', cpuPath: '/k/a' } }],
    ['ok 1 running container: each where the kubelet and the runtime say'],
  ],
  [
    'one is where another driver makes it, and one nowhere',
    [
      { id: 'a', cgroup: { kind: 'found', path: '/k.slice:cri:a', cpuPath: '/', expected: '/k.slice/cri-a.scope' } },
      { id: 'b', cgroup: { kind: 'absent', because: 'its cgroup is not at /k.slice/cri-b.scope' } },
      { id: 'c', cgroup: { kind: 'found', path: '/k/c', cpuPath: '/k/c' } },
    ],
    [
      'error 2 of 3 running containers elsewhere; container a: its cgroup is /k.slice:cri:a, and its name stands for /k.slice/cri-a.scope',
    ],
  ],
])('cgroups of running containers: %s', (_name, containers, want) => {
  const found = judgeFacts({ ...FINE, containers }).filter(({ check }) => check === 'container-cgroups');
  expect(found.map(({ level, text }) => `${level} ${text}`)).toEqual(want);
  for (const { level, remedy } of found) if (level === 'error') expect(remedy).toMatch(/same cgroup driver/);
});

test('containers that the runtime did not tell about are a warning, unless one is out of place', () => {
  const unseenContainers = 'the runtime did not list them: no answer in 3 s';
  const levelOf = (containers: NonNullable<NodeFacts['containers']>) =>
    judgeFacts({ ...FINE, containers, unseenContainers }).flatMap(({ check, level, text }) =>
      check === 'container-cgroups' ? [`${level} ${text}`] : [],
    );
  expect(levelOf([])).toEqual([`warning not all were looked at: ${unseenContainers}`]);
  expect(levelOf([{ id: 'b', cgroup: { kind: 'absent', because: 'it is not there' } }])).toEqual([
    'error 1 of 1 running container elsewhere; container b: it is not there',
  ]);
});

const THERE = 'hugepages-2Mi on memory nodes 1';
const AS_NONE = 'cpusetd places these containers as if they asked for none';
const DROPPED = `warning ${THERE}; containerd does not say which containers ask for them, so ${AS_NONE}`;
const NO_CONTROLLER = `warning ${THERE}; without the cgroup controller hugetlb no runtime says which containers ask for them, so ${AS_NONE}`;
const notKnown = (name: string, because = '') =>
  `warning ${THERE}; it is not known if ${name} says which containers ask for them${because}; if not, ${AS_NONE}`;
const noController = (version: 1 | 2): Partial<NodeFacts> => ({
  cgroups: { ok: true, value: { version, driver: 'systemd', lacksHugetlb: true } },
});
const reporting = { runtime: runtime('containerd', 'v2.1.9', 'reported') };

const away: Partial<NodeFacts> = { runtime: { ok: false, because: 'it hangs' } };

test.each<[string, Partial<NodeFacts>, string[]]>([
  ['the runtime keeps them to itself', {}, [DROPPED]],
  ['the runtime tells', reporting, [`ok ${THERE}`]],
  ['the API server tells', { readsSpecs: true }, [`ok ${THERE}`]],
  ['the proxy sees the requests', { mode: 'cri-proxy' }, [`ok ${THERE}`]],
  ['the runtime is away', away, [notKnown('the runtime')]],
  ['the runtime is away, and the API server tells', { ...away, readsSpecs: true }, [`ok ${THERE}`]],
  ['the runtime tells no settings', { runtime: runtime('youki', '1', 'not-known') }, [notKnown('youki')]],
  [
    'the runtime was asked for its settings in vain',
    {
      runtime: {
        ok: true,
        value: { name: 'containerd', version: 'v2.1.9', settings: { ok: false, because: 'Status: UNIMPLEMENTED' } },
      },
    },
    [notKnown('containerd', ' (Status: UNIMPLEMENTED)')],
  ],
  ['the controller is not there', { ...reporting, ...noController(2) }, [NO_CONTROLLER]],
  ['the controller is not there, and the runtime keeps them to itself', noController(1), [NO_CONTROLLER, DROPPED]],
  ['the controller is not there, and the API server tells', { ...noController(1), readsSpecs: true }, [`ok ${THERE}`]],
  ['cgroups can’t be read', { ...reporting, cgroups: { ok: false, because: 'no cpusets' } }, [`ok ${THERE}`]],
])('huge pages: %s', (_name, more, want) => {
  const pages = { ok: true, value: { ...machine, hugePages: THERE } } as const;
  const found = judgeFacts({ ...FINE, machine: pages, ...more }).filter(({ check }) => check === 'huge-pages');
  expect(found.map(({ level, text }) => `${level} ${text}`)).toEqual(want);
  for (const { level, remedy } of found)
    if (level !== 'ok')
      expect(remedy).toMatch(/(disable_hugetlb_controller|CONFIG_CGROUP_HUGETLB|--cri-endpoint).*, or set kubeconfig$/);
});

test('huge pages: without a CRI socket the runtime can’t be asked', () => {
  const { cri: _cri, runtime: _runtime, ...facts } = FINE;
  const pages = { ok: true, value: { ...machine, hugePages: THERE } } as const;
  const found = judgeFacts({ ...facts, machine: pages }).filter(({ check }) => check === 'huge-pages');
  expect(found.map(({ level, text }) => `${level} ${text}`)).toEqual([notKnown('the runtime')]);
});

test('huge pages: none are set aside', () => {
  expect(judgeFacts(FINE).filter(({ check }) => check === 'huge-pages')).toEqual([]);
});

test('with on-unanswered refuse, the version of NRI that it needs is named', () => {
  const found = judgeFacts({ ...FINE, onUnanswered: 'refuse' }).filter(({ check }) => check === 'on-unanswered');
  expect(found).toEqual([
    {
      check: 'on-unanswered',
      level: 'ok',
      text: expect.stringMatching(/^refuse .* containerd v2\.1\.9 has NRI 0\.12\.4 or newer/),
    },
  ]);
});

test.each<[string, Partial<NodeFacts>, string[]]>([
  ['both off', { topologyManagerPolicy: 'restricted' }, []],
  ...(['none', 'best-effort'] as const).map((ours): [string, Partial<NodeFacts>, string[]] => [
    `memory nodes of the kubelet beside ${ours}`,
    { topologyManagerPolicy: ours, kubelet: withManagers({ memoryManagerPolicy: 'Static' }) },
    [
      `memory-manager warning /k/config.yaml has memoryManagerPolicy: Static: the memory nodes that it chooses are kept; a container gets exclusive CPUs far from them where none are free near them (topology-manager-policy ${ours})`,
    ],
  ]),
  [
    'memory nodes of the kubelet where CPUs must be near',
    {
      topologyManagerPolicy: 'single-numa-node',
      kubelet: withManagers({ memoryManagerPolicy: 'Static', topologyManagerPolicy: 'restricted' }),
    },
    [
      'memory-manager ok /k/config.yaml has memoryManagerPolicy: Static: the memory nodes that it chooses are kept; exclusive CPUs are near them, or the container is refused (single-numa-node)',
      'topology-manager ok /k/config.yaml has topologyManagerPolicy: restricted: it aligns memory and devices only; CPUs go by topology-manager-policy of cpusetd, which is single-numa-node',
    ],
  ],
  [
    'a cpusetd that gives no exclusive CPUs',
    { kubelet: withManagers({ memoryManagerPolicy: 'Static', topologyManagerPolicy: 'best-effort' }) },
    [
      'memory-manager ok /k/config.yaml has memoryManagerPolicy: Static: the memory nodes that it chooses are kept',
      'topology-manager ok /k/config.yaml has topologyManagerPolicy: best-effort: it aligns memory and devices only',
    ],
  ],
  [
    'flags, which win over the file',
    {
      topologyManagerPolicy: 'none',
      kubelet: {
        ...withManagers({ memoryManagerPolicy: 'Static', topologyManagerPolicy: 'restricted' }),
        flags: { memoryManagerPolicy: 'None', topologyManagerPolicy: 'best-effort', reservesByFlag: false },
      },
    },
    [
      'topology-manager ok the kubelet runs with --topology-manager-policy=best-effort: it aligns devices only; CPUs go by topology-manager-policy of cpusetd, which is none',
    ],
  ],
  [
    'a topology manager that flags switch off',
    {
      kubelet: {
        ...withManagers({ topologyManagerPolicy: 'restricted' }),
        flags: { topologyManagerPolicy: 'none', reservesByFlag: false },
      },
    },
    [],
  ],
])("the kubelet's managers of memory and NUMA nodes: %s", (_name, facts, want) => {
  const found = judgeFacts({ ...FINE, ...facts }).filter(({ check }) => check.endsWith('-manager'));
  expect(found.map(({ check, level, text }) => `${check} ${level} ${text}`)).toEqual(want);
  for (const { level, remedy } of found) if (level === 'warning') expect(remedy).toMatch(/restricted or single-numa/);
});

function withManagers(fields: object): NodeFacts['kubelet'] {
  return { ...FINE.kubelet, config: kubeletConfig({ reservedSystemCpus: '0,1', ...fields }) };
}

test('a node on which everything is fine', () => {
  expect(judgeFacts(FINE).map(({ check, level, text }) => `${check} ${level} ${text}`)).toEqual([
    'options ok they are valid, and fit this machine',
    'cri ok /cri.sock answers',
    'runtime ok containerd v2.1.9',
    'nri ok /nri.sock answers; containerd v2.1.9 has NRI 0.8.0 or newer',
    'kubelet ok its CPU manager is off (/k/config.yaml has cpuManagerPolicy: none)',
    'reservation ok the kubelet and cpusetd reserve CPUs 0-1',
    'machine ok CPUs 0-7 are online; 2 uncore caches',
    'isolcpus ok the kernel isolates no CPU that can be given out',
    'cgroup ok version 2, driver systemd',
    'managers ok no other manager of CPUs was found',
    'affinity ok nothing narrows the CPUs of the host',
    'inotify ok 100000 watches, 128 instances',
    'state-dir ok /state can be written',
    'state ok /state/state.json: good',
    'programs ok Node.js v20.1.0, flock',
  ]);
});

const noNri = { path: '/nri.sock', presence: 'absent' } as const;
const kubelet = (fields: Partial<NodeFacts['kubelet']>) => ({ ...FINE.kubelet, ...fields });

test.each<[string, Partial<NodeFacts>, string, RegExp]>([
  ['an option that does not fit', { optionProblems: ['--reserved-cpus: all'] }, 'options error', /all; correct/],
  [
    'NRI off in containerd 1.7',
    { nri: noNri, runtime: runtime('containerd', '1.7.24') },
    'nri error',
    /disable = false .*\/etc\/containerd\/config\.toml/,
  ],
  [
    'containerd without NRI',
    { nri: noNri, runtime: runtime('containerd', 'v1.6.2') },
    'nri error',
    /has no NRI: use 1\.7 or newer/,
  ],
  ['NRI off in CRI-O', { nri: noNri, runtime: runtime('cri-o', '1.29.0') }, 'nri error', /enable_nri = true/],
  ['NRI off in an unknown runtime', { nri: { ...noNri, presence: 'stale' } }, 'nri error', /nobody listens/],
  ['no right to open NRI', { nri: { ...noNri, presence: 'denied' } }, 'nri error', /run as root/],
  ['no CRI beside NRI', { cri: { path: '/cri.sock', presence: 'absent' } }, 'cri warning', /--cri-endpoint/],
  [
    'no CRI for the proxy',
    { mode: 'cri-proxy', cri: { path: '/cri.sock', presence: 'not-a-socket' } },
    'cri error',
    /is no socket/,
  ],
  ['a runtime without a version', { runtime: { ok: false, because: 'it hangs' } }, 'runtime warning', /it hangs/],
  [
    'a static kubelet',
    { kubelet: kubelet({ config: kubeletConfig({ cpuManagerPolicy: 'static', reservedSystemCpus: '0-1' }) }) },
    'kubelet error',
    /two managers/,
  ],
  [
    'a leftover of a static kubelet',
    { kubelet: kubelet({ state: 'static' }) },
    'kubelet error',
    /will not start; delete \/k\/cpu_manager_state/,
  ],
  [
    'a flag of the kubelet, which wins over its file',
    { kubelet: kubelet({ flags: { cpuManagerPolicy: 'static', reservesByFlag: false } }) },
    'kubelet error',
    /runs with --cpu-manager-policy=static: two managers/,
  ],
  [
    'another reservation by flag',
    { kubelet: kubelet({ flags: { reservedCpus: '0-2', reservesByFlag: false } }) },
    'reservation error',
    /reserves CPUs 0-2, cpusetd CPUs 0-1/,
  ],
  [
    'a reservation by flag that is not read',
    { kubelet: kubelet({ flags: { reservesByFlag: true }, config: kubeletConfig({}) }) },
    'reservation warning',
    /--kube-reserved/,
  ],
  ['an unknown kubelet', { kubelet: { statePath: '/k/s', state: 'none' } }, 'reservation warning', /was not found/],
  [
    'a kubelet that connects past the proxy',
    {
      mode: 'cri-proxy',
      criListen: '/run/cpusetd/cri.sock',
      kubelet: kubelet({ flags: { runtimeEndpoint: 'unix:///run/containerd.sock', reservesByFlag: false } }),
    },
    'endpoint warning',
    /connects to unix:\/\/\/run\/containerd\.sock.*set .* to unix:\/\/\/run\/cpusetd\/cri\.sock/,
  ],
  [
    'an NRI whose registration may block the runtime',
    { runtime: runtime('containerd', '1.7.13~ds1') },
    'nri warning',
    /NRI 0\.4\.0 or newer.*update to containerd 1\.7\.16/,
  ],
  [
    'pods that may not have all CPUs',
    {
      cgroups: {
        ok: true,
        value: {
          version: 2,
          driver: 'systemd',
          bound: { ok: true, bound: { cgroup: '/kubepods.slice', cpus: cpus('0-5') } },
        },
      },
    },
    'pods-cgroup error',
    /the cgroup \/kubepods\.slice has CPUs 0-5 only: 6-7 can't be given out; remove AllowedCPUs= of kubepods\.slice/,
  ],
  [
    'a node in a container that has not all CPUs',
    {
      cgroups: { ok: true, value: { version: 1, bound: { ok: true, bound: { cgroup: '/', cpus: cpus('0-5') } } } },
    },
    'pods-cgroup error',
    /the cgroup \/ has CPUs 0-5 only: 6-7 can't be given out; give it the others, or reserve them/,
  ],
  [
    'cgroups that can’t be read',
    {
      cgroups: {
        ok: true,
        value: { version: 2, bound: { ok: false, because: '/c: reading failed: EACCES', bound: undefined } },
      },
    },
    'pods-cgroup error',
    /the CPUs that pods can have are not known: \/c: reading failed: EACCES/,
  ],
  [
    'a kubelet whose cgroup has no cpusets',
    {
      cgroups: {
        ok: true,
        value: { version: 2, driver: 'systemd', pods: { cgroup: '/kubepods.slice', hasCpuset: false } },
      },
    },
    'pods-cgroup error',
    /no cpusets.*cgroup\.subtree_control/,
  ],
  ['a container without the PID namespace of the host', { seesHost: false }, 'managers warning', /hostPID/],
  ['irqbalance', { irqbalance: true }, 'irqbalance warning', /IRQBALANCE_BANNED_CPULIST/],
  [
    'irqbalance beside us',
    { irqbalance: true, interrupts: { areSteered: true } },
    'irqbalance warning',
    /moves interrupts back/,
  ],
  [
    'interrupts that can’t be moved',
    { interrupts: { areSteered: true, notWritable: 'read-only' } },
    'interrupts error',
    /\(read-only\).*--irq-affinity off/,
  ],
  [
    'isolated cores that are others',
    { tuned: { profile: 'mine', isolatedCores: '4-7' } },
    'tuned warning',
    /isolated_cores=4-7.*not reserved \(2-7\)/,
  ],
  [
    'a full disk',
    { stateDir: { path: '/s', isInMemory: false, freeBytes: 2 ** 20 } },
    'state-dir warning',
    /1 MiB left/,
  ],
  ['a state that is rebuilt', { state: { use: 'rebuilt', text: 'torn' } }, 'state warning', /torn/],
  ['a state that is newer', { state: { use: 'refused', text: 'newer' } }, 'state error', /newer/],
  ['an old Node.js', { programs: { node: 'v18.20.1', hasFlock: true } }, 'programs error', /v18\.20\.1 is too old/],
  ['no flock', { programs: { node: 'v22.0.0', hasFlock: false } }, 'programs error', /util-linux/],
  ['a foreign state file', { kubelet: kubelet({ state: 'foreign' }) }, 'kubelet warning', /as root.*find out/],
  ['another reservation, by list', { reserved: cpus('0') }, 'reservation error', /reserves CPUs 0,1, cpusetd CPUs 0;/],
  [
    'another reservation, by count',
    { kubelet: kubelet({ config: kubeletConfig({ reservedMilliCpu: 2_500 }) }) },
    'reservation error',
    /2500m CPU/,
  ],
  [
    'a list that is none',
    { kubelet: kubelet({ config: kubeletConfig({ reservedSystemCpus: 'x' }) }) },
    'reservation error',
    /CPUs x/,
  ],
  ['nothing reserved here', { reserved: cpus('') }, 'reservation error', /cpusetd nothing/],
  [
    'an unreadable configuration',
    { kubelet: kubelet({ config: { path: '/k/c', read: { ok: false, because: 'is a folder' } } }) },
    'reservation warning',
    /is a folder/,
  ],
  [
    'a remark about the kubelet’s configuration',
    {
      kubelet: kubelet({ config: { ...kubeletConfig({ reservedSystemCpus: '0-1' }), remarks: ['/k: x is no field'] } }),
    },
    'kubelet warning',
    /\/k: x is no field; correct/,
  ],
  ['no sysfs', { machine: { ok: false, because: 'no sysfs' } }, 'machine error', /no sysfs/],
  [
    'sysfs that contradicts itself',
    { machine: { ok: true, value: { ...machine, ignored: ['NUMA nodes 0-3 all list CPUs 0-7'] } } },
    'machine warning',
    /NUMA nodes 0-3 all list CPUs 0-7; if that is not meant so/,
  ],
  [
    'isolated CPUs',
    { machine: { ok: true, value: { ...machine, isolated: cpus('1-3') } } },
    'isolcpus warning',
    /isolates 2-3/,
  ],
  ['no cgroups', { cgroups: { ok: false, because: 'no cpuset' } }, 'cgroup error', /no cpuset/],
  [
    'read-only cgroups',
    { cgroups: { ok: true, value: { version: 1, notWritable: 'read-only' } } },
    'cgroup warning',
    /version 1; read-only/,
  ],
  [
    'two cgroup drivers',
    { cgroups: { ok: true, value: { version: 2, driver: 'cgroupfs' } } },
    'cgroup-driver warning',
    /says systemd/,
  ],
  ['another manager', { managers: ['Koordinator (koordlet)'] }, 'managers error', /koordlet/],
  ['a narrow host', { hostAffinity: cpus('0-3') }, 'affinity warning', /CPUAffinity/],
  ['a profile of tuned', { tuned: { profile: 'cpu-partitioning' } }, 'tuned warning', /cpu-partitioning/],
  ['few inotify watches', { inotify: { watches: 100, instances: 128 } }, 'inotify warning', /max_user_watches/],
  [
    'a state directory that is read-only',
    { stateDir: { path: '/s', problem: "can't", isInMemory: false } },
    'state-dir error',
    /can't/,
  ],
  ['a state directory in memory', { stateDir: { path: '/s', isInMemory: true } }, 'state-dir warning', /reboot/],
])('%s', (_what, change, expected, text) => {
  const bad = judgeFacts({ ...FINE, ...change }).filter(({ level }) => level !== 'ok');
  expect(bad.map(({ check, level }) => `${check} ${level}`)).toEqual([expected]);
  expect(`${bad[0]!.text}; ${bad[0]!.remedy}`).toMatch(text);
});

test('counts of reserved CPUs agree when they are rounded up, and a running cpusetd is told', () => {
  const config = kubeletConfig({ reservedMilliCpu: 1_500 });
  const found = judgeFacts({ ...FINE, kubelet: kubelet({ config }), admin: live('/admin.sock') });
  expect(found).toContainEqual({ check: 'reservation', level: 'ok', text: 'the kubelet and cpusetd reserve 2 CPUs' });
  expect(found.at(-1)).toEqual({ check: 'running', level: 'ok', text: 'cpusetd answers on /admin.sock' });
});

test('what is not known is no error; a reservation that is not known is told', () => {
  const { cri: _cri, runtime: _runtime, hostAffinity: _affinity, tuned: _tuned, inotify: _inotify, ...facts } = FINE;
  const found = judgeFacts({ ...facts, kubelet: { statePath: '/k/s', state: 'missing' } });
  expect(found.filter(({ level }) => level !== 'ok').map(({ check }) => check)).toEqual(['reservation']);
});

test.each([
  ['containerd', '1.7.24~ds1', '0.6.1'],
  ['containerd', 'v2.2.0', '0.10.0'],
  ['containerd', '2.4.0-beta.0', '0.12.0'],
  ['cri-o', '1.34.2', '0.10.0'],
])('%s %s has NRI %s', (name, version, nri) => {
  const found = judgeFacts({ ...FINE, runtime: runtime(name, version) }).find(({ check }) => check === 'nri')!;
  expect(found).toEqual({ check: 'nri', level: 'ok', text: expect.stringContaining(`has NRI ${nri} or newer`) });
});

test.each([
  ['another runtime', { name: 'youki', version: '1.0' }],
  ['a version that says nothing', { name: 'containerd', version: 'unknown' }],
])('%s: its NRI is not known', (_what, value) => {
  const found = judgeFacts({ ...FINE, runtime: runtime(value.name, value.version) }).find(
    ({ check }) => check === 'nri',
  )!;
  expect(found.text).toBe('/nri.sock answers');
});

test('isolated cores of tuned that are those to give out, and parameters of the kernel, are told and fine', () => {
  const found = judgeFacts({
    ...FINE,
    tuned: { profile: 'cpu-partitioning', isolatedCores: '2-7' },
    kernelParameters: ['nohz_full=2-7'],
  });
  expect(found.filter(({ level }) => level !== 'ok')).toEqual([]);
  expect(found.find(({ check }) => check === 'tuned')!.text).toContain('those that are not reserved');
  expect(found.find(({ check }) => check === 'isolcpus')!.text).toContain('nohz_full=2-7');
});

test('kinds of cores are named with the machine', () => {
  const kinds = 'performance cores 0-3, efficiency cores 4-7';
  const [found] = judgeFacts({ ...FINE, machine: { ok: true, value: { ...machine, kinds } } }).filter(
    ({ check }) => check === 'machine',
  );
  expect(found).toMatchObject({ level: 'ok', text: `CPUs 0-7 are online; ${kinds}; 2 uncore caches` });
});
