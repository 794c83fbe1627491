import { parseCpuList } from '../../../src/core/cpuset';
import { ALARM_KINDS } from '../../../src/admin/model/alarm';
import type { LentStatus, QosStatus } from '../../../src/admin/model/qos-status';
import type { NodeStatus, Status } from '../../../src/admin/model/status';
import { summarize } from '../../../src/admin/summary/summarize';
import type { VerdictKind } from '../../../src/core/verdict/judge';
import { container, sampleLent, sampleQos, sampleStatus, sampleUsage } from '../sample-status';

const since = '2026-11-21T10:00:00.000Z';
const ready = { state: 'ready', since, reason: '' } as const;
const fine: NodeStatus = (() => {
  const {
    gap: _gap,
    kube: _kube,
    usage: _usage,
    qos: _qos,
    lent: _lent,
    nodeName: _name,
    refused: _refused,
    ...node
  } = sampleStatus.node;
  return { ...node, cri: ready, alarms: [] };
})();
const withVerdict = (kind: VerdictKind) => ({
  ...container({ id: kind, pod: 'p', container: 'c', placement: 'shared', requested: 0 }),
  verdict: { kind, reason: '', since },
});

const statusWith = (node: Partial<NodeStatus>, verdicts: readonly VerdictKind[] = ['kept']): Status => ({
  node: { ...fine, ...node },
  containers: verdicts.map(withVerdict),
  idle: [],
});
const partOf = (status: Status, part: string) => summarize(status).find((each) => each.part === part);

test('a node on which all is fine has no remedy, in the order of its parts', () => {
  expect(summarize(statusWith({}))).toEqual([
    { part: 'cpusetd', level: 'ok', text: '0.1.0, mode nri, started 2026-11-21T10:00:00Z' },
    { part: 'runtime', level: 'ok', text: 'containerd v2.1.9, ready since 2026-11-21T10:00:00Z' },
    { part: 'cri', level: 'ok', text: 'ready since 2026-11-21T10:00:00Z' },
    { part: 'state', level: 'ok', text: 'generation 12' },
    { part: 'promises', level: 'ok', text: '1 of 1 container kept' },
  ]);
});

test.each([
  ['nri', 'connecting', 'error', /connecting since .*; new containers are not pinned$/, /--nri-socket/],
  ['nri', 'synchronizing', 'error', /new containers are not pinned$/, /--nri-socket/],
  ['cri-proxy', 'connecting', 'error', /new containers are not pinned$/, /--cri-endpoint/],
] as const)('mode %s with a runtime that is %s is an %s', (mode, state, level, text, remedy) => {
  const connection = { state, since, reason: '' } as const;
  const part = partOf(statusWith(mode === 'nri' ? { mode, nri: connection } : { mode, cri: connection }), 'runtime')!;
  expect(part).toEqual({
    part: 'runtime',
    level,
    text: expect.stringMatching(text),
    remedy: expect.stringMatching(remedy),
  });
});

test('the CRI connection beside NRI is a warning when it is lost, and left out when it is off', () => {
  const lost = { state: 'connecting', since, reason: 'refused' } as const;
  expect(partOf(statusWith({ cri: lost }), 'cri')).toMatchObject({ level: 'warning', remedy: 'check --cri-endpoint' });
  expect(partOf(statusWith({ cri: { ...ready, state: 'off' } }), 'cri')).toBeUndefined();
  expect(partOf(statusWith({ mode: 'cri-proxy' }), 'cri')).toBeUndefined();
});

test('the API server: what is known of it, and a warning while it is away', () => {
  expect(partOf(statusWith({ kube: { ...ready, heardAt: since, pods: 7 } }), 'api server')).toEqual({
    part: 'api server',
    level: 'ok',
    text: 'ready since 2026-11-21T10:00:00Z; 7 pods, last heard of 2026-11-21T10:00:00Z',
  });
  const away = { state: 'connecting', since, reason: '', pods: 0 } as const;
  expect(partOf(statusWith({ kube: away }), 'api server')).toMatchObject({
    level: 'warning',
    text: expect.stringMatching(/; nothing heard yet$/),
    remedy: expect.any(String),
  });
});

test('the API server that is away: the idle CPUs that only its last word keeps, whose they are, and the remedy', () => {
  const [sample] = sampleStatus.idle;
  const kept = [1, 2, 3, 4, 5].map((n) => ({
    ...sample!,
    namespace: 'ns',
    pod: 'p',
    podUid: `uid-${n}`,
    cpus: parseCpuList(`${n}`),
    ...(n < 5 && { keptByApiServer: true as const }),
  }));
  const part = (state: 'connecting' | 'ready') =>
    summarize({ ...statusWith({ kube: { state, since, reason: '', pods: 0 } }), idle: kept }).find(
      (each) => each.part === 'api server',
    );
  expect(part('connecting')).toMatchObject({
    text: expect.stringMatching(
      /; 4 idle CPUs are kept on its last word alone, for pods that the runtime no longer has: ns\/p \(uid uid-1\), .*uid-3\), 1 more$/,
    ),
    remedy: expect.stringMatching(/a start of cpusetd without --kubeconfig frees their CPUs$/),
  });
  expect(part('ready')?.text).not.toContain('word');
});

test.each([
  [['kept', 'kept', 'pending'], 'ok', '2 of 3 containers kept, 1 pending'],
  [['kept', 'held-under-old-rules'], 'ok', '1 of 2 containers kept, 1 held-under-old-rules'],
  [['kept', 'unknown'], 'warning', '1 of 2 containers kept, 1 unknown'],
  [['drifted', 'drifted'], 'warning', '0 of 2 containers kept, 2 drifted'],
  [['kept', 'drifted', 'violated'], 'error', '1 of 3 containers kept, 1 drifted, 1 violated'],
] as const)('containers that are %j are %s', (verdicts, level, text) => {
  const part = partOf(statusWith({}, verdicts), 'promises')!;
  expect(part).toMatchObject({ level, text });
  expect(part.remedy).toBe(level === 'ok' ? undefined : 'cpusetd status --drifted has the reasons');
});

test('sandboxes are counted beside the containers, and a broken one is told', () => {
  const { containers, ...rest } = statusWith({}, ['kept', 'kept', 'kept', 'drifted']);
  const status = {
    ...rest,
    containers: containers.map((container, i) => (i < 1 ? container : { ...container, pause: true as const })),
  };
  expect(partOf(status, 'promises')).toMatchObject({
    level: 'warning',
    text: '1 of 1 container kept; 2 of 3 pod sandboxes kept, 1 drifted',
  });
});

test('a gap is a warning while it lasts and for an hour after its end; an older one is told', () => {
  const gap = { from: since, containers: 1, names: ['ns/web/app'] };
  expect(partOf(statusWith({ gap }), 'gap')).toEqual({
    part: 'gap',
    level: 'warning',
    text: '2026-11-21T10:00:00Z to now: 1 container started without cpusetd (ns/web/app)',
  });
  const over = statusWith({ gap: { ...gap, to: since } });
  const hourLaterMs = Date.parse(since) + 3_600_000;
  const [lately, later] = [hourLaterMs, hourLaterMs + 1].map((nowMs) =>
    summarize(over, nowMs).find(({ part }) => part === 'gap'),
  );
  const remedy = expect.stringContaining('cpusetd events --kind gap,found-unpinned') as string;
  expect(lately).toMatchObject({ level: 'warning', remedy });
  expect(later).toMatchObject({ level: 'ok' });
  expect(later).not.toHaveProperty('remedy');
});

test.each([...ALARM_KINDS, 'of-a-newer-version'])('the alarm %s makes one part an error, and is not lost', (kind) => {
  const alarm = { kind, subject: '', because: 'it is so', since };
  const bad = summarize(statusWith({ alarms: [alarm], kube: { ...ready, pods: 1 } })).filter(
    ({ level }) => level === 'error',
  );
  expect(bad).toHaveLength(1);
  expect(bad[0]!.text).toContain(`alarm ${kind} since 2026-11-21T10:00:00Z: it is so; `);
  if (kind !== 'of-a-newer-version') expect(bad[0]!.remedy).toMatch(/\w/);
});

test('an alarm about a part that is not shown is an error all the same', () => {
  const alarm = { kind: 'api-server', subject: '', because: 'x', since };
  expect(summarize(statusWith({ alarms: [alarm] })).some(({ level }) => level === 'error')).toBe(true);
});

describe('options', () => {
  const pending = {
    option: 'cgroup-writes',
    inForce: 'on',
    configured: '',
    because: 'cgroup-writes is read at the start',
  };
  const refused = { kind: 'config-refused', subject: '', because: 'a.yaml:1: no such option', since };

  test('that wait for a restart are a warning with both values, the reason and the remedy', () => {
    expect(partOf(statusWith({ pendingOptions: [pending] }), 'options')).toEqual({
      part: 'options',
      level: 'warning',
      text: 'cgroup-writes: not set is configured, on is in force: cgroup-writes is read at the start',
      remedy: 'restart cpusetd; containers keep their CPUs',
    });
  });

  test.each([[[]], [[pending]]])('that were refused are an error, whatever waits beside them', (pendingOptions) => {
    expect(partOf(statusWith({ pendingOptions, alarms: [refused] }), 'options')).toMatchObject({
      level: 'error',
      text: expect.stringMatching(/^alarm config-refused since .*: a\.yaml:1: no such option; /),
      remedy: 'correct the file; it is read again at once',
    });
  });
});

test('the use of the node in one line; what could not be read is left out', () => {
  expect(partOf(statusWith({ usage: sampleUsage }), 'usage')).toEqual({
    part: 'usage',
    level: 'ok',
    text: '37.5 % of 8 CPUs busy, 12 GiB of 32 GiB memory used, exclusive CPUs: 2.5 CPUs used by owners, 0.25 CPUs used by others, 1.25 CPUs unused, read 2026-11-21T10:00:00Z',
  });
  const unread = { at: since, busyMs: 1, cpuCores: 8, sets: [] };
  expect(partOf(statusWith({ usage: unread }), 'usage')?.text).toBe('read 2026-11-21T10:00:00Z');
});

const calm: QosStatus = (({ schedulingDisabled: _none, ...rest }) => ({ ...rest, rules: [], throttled: [] }))(
  sampleQos,
);
test.each<[string, Partial<QosStatus>, 'ok' | 'warning', string]>([
  ['rules that are calm', { rules: sampleQos.rules.slice(1) }, 'ok', 'mode enforce, 0 of 1 rule triggered'],
  ['a triggered rule without effect', { rules: sampleQos.rules }, 'ok', 'mode enforce, 1 of 2 rules triggered'],
  [
    'rules that are off',
    { mode: 'off', because: 'rules are off' },
    'ok',
    'mode off, no rule is followed: rules are off',
  ],
  [
    'rules that can not be followed',
    { because: 'the API server is away' },
    'warning',
    'mode enforce, no rule is followed: the API server is away',
  ],
  [
    'new pods that are kept away',
    { schedulingDisabled: { because: 'busy/cpu is triggered', since } },
    'warning',
    'mode enforce, 0 of 0 rules triggered; new pods are kept away since 2026-11-21T10:00:00Z: busy/cpu is triggered',
  ],
  [
    'a throttled container',
    { throttled: sampleQos.throttled.slice(1) },
    'warning',
    'mode enforce, 0 of 0 rules triggered; 1 container is throttled',
  ],
])('given %s: %j is level %s', (_name, change, level, text) => {
  const part = partOf(statusWith({ qos: { ...calm, ...change } }), 'qos');
  const remedy = level === 'ok' ? {} : { remedy: 'cpusetd qos has the rules, the containers and the reasons' };
  expect(part).toEqual({ part: 'qos', level, text, ...remedy });
});

test('what is lent in one line', () => {
  const textOf = (lent: LentStatus) => partOf(statusWith({ lent }), 'lent')?.text;
  expect(textOf(sampleLent)).toBe('2.5 CPUs and 6 GiB of memory; 40 % of the node is kept back');
  expect(textOf({ because: 'nothing is left', since })).toBe('nothing; nothing is left');
});

describe('what has been wrong before', () => {
  const [, drifted] = sampleStatus.containers;
  const status = { ...statusWith({}), containers: [drifted!] };
  const at = Date.parse(since);

  test.each([
    ['a drift lately is a warning, repaired or not', 3_599_000, 'warning'],
    ['a drift of long ago is told too', 3_601_000, 'ok'],
  ])('%s', (_name, laterMs, level) => {
    const part = summarize(status, at + laterMs).find(({ part: name }) => name === 'drifts')!;
    expect(part.level).toBe(level);
    expect(part.text).toBe(
      '13 drifts of 1 container since cpusetd started, the last 2026-11-21T10:00:00Z of default/web app; 8 repairs confirmed, 1 failed',
    );
    expect(part.remedy !== undefined).toBe(level === 'warning');
  });

  test('a refused container is a warning that names it, the reason and the command', () => {
    expect(partOf(statusWith({ refused: sampleStatus.node.refused! }), 'refused')).toEqual({
      part: 'refused',
      level: 'warning',
      text: '2 containers: default/big solver (3 times, the last 2026-11-21T10:00:00Z): no 4 CPUs are free; 1 more',
      remedy: 'cpusetd explain default/big',
    });
  });

  test.each([
    [37.5, 'warning', /^others used 37\.5 % of the CPUs of default\/web app, most of it stress; /],
    [4.9, 'ok', /^others used 4\.9 %/],
  ])('others on %d per cent of an owner: %s', (percent, level, text) => {
    const foreign = { ...drifted!.foreign!, percent };
    const part = partOf({ ...status, containers: [{ ...drifted!, foreign }] }, 'audit')!;
    expect(part).toMatchObject({ level, text: expect.stringMatching(text) });
  });

  test('the node has its name', () => {
    expect(partOf(statusWith({ nodeName: 'worker-1' }), 'cpusetd')!.text).toContain('0.1.0 on node worker-1, ');
  });
});
