import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { loadConfig } from '../../../src/app/config';
import { makeReport, nameOfReport } from '../../../src/cli/report/make-report';
import type { Redaction } from '../../../src/cli/report/redact';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { checksumOf, decodeState, encodeRefusals, encodeState } from '../../../src/state';
import { describeMachine } from '../../../src/state/journal';
import { container, sampleQos, sampleStatus, sampleUsage } from '../../admin/sample-status';
import { withAdminRig } from '../../admin/with-admin-server';
import { machineOf, podOf, resourcesOf } from '../../core/transition/node-driver';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';
import { extractReport } from './extract';

const makeDir = useTempDirs();
const AT = '2026-11-24T10:00:00.000Z';

/** Private words. Each stands in many places of the node that the reports are of. */
const HOST = 'planted-host';
const DOMAIN = 'planted-domain';
const NODE = 'planted-node';
const KUBELET_NODE = 'planted-override';
const ADDRESSES = ['10.98.76.54', 'fd00:98::76'];
const VALUE = 'planted value';
const [NAMESPACE, POD, CONTAINER] = ['planted-ns', 'planted-pod-5c7', 'planted-container'];
/** A pod that is gone: only an action of a rule has its name. */
const EVICTED = 'planted-evicted';
const NAMED = { namespace: NAMESPACE, pod: POD, container: CONTAINER };
const SECRETS = ['eyJhbGciOiJIUzI1NiJ9.plantedbody.plantedsignature', 'plantedpassword', 'plantedbearer', 'plantedpem'];

const FQDN = `${HOST}.${DOMAIN}.example`;
/** A text as an operator or a peer may write it. */
const TEXT = [
  `pod ${NAMESPACE}/${POD}, container ${CONTAINER} on ${FQDN} (node ${NODE}, kubelet ${KUBELET_NODE})`,
  `dialed ${ADDRESSES[0]!}:6443 and [${ADDRESSES[1]!}]:6443 with ${SECRETS[0]!}, password=${SECRETS[1]!}`,
  `Authorization: Bearer ${SECRETS[2]!}; -----BEGIN PRIVATE KEY----- ${SECRETS[3]!} -----END PRIVATE KEY-----`,
].join('; ');

const pod = {
  ...podOf('uid-1'),
  namespace: NAMESPACE,
  name: POD,
  annotations: {
    'cpusetd.io/policy': VALUE,
    [`policy.cpusetd.io/container.${CONTAINER}`]: 'exclusive',
    'topology.crane.io/topology-result': `[{"name":"node0","type":"Node","remark":"${VALUE}","resources":{"capacity":{"cpu":"2"}}}]`,
    [`${FQDN}/key`]: VALUE,
  },
};
const created = {
  id: 'a'.repeat(64),
  sandboxId: pod.sandboxId,
  name: CONTAINER,
  phase: 'creating',
  cgroupsPath: '',
  resources: resourcesOf(2),
};
const subject = { podUid: pod.uid, pod: `${NAMESPACE}/${POD}`, container: CONTAINER, containerId: created.id };
const options = {
  'reserved-cpus': '0',
  'node-name': NODE,
  'metrics-address': `${ADDRESSES[0]!}:9100`,
  kubeconfig: TEXT,
};
const spec = {
  uid: pod.uid,
  namespace: NAMESPACE,
  name: POD,
  annotations: pod.annotations,
  qos: 'Guaranteed',
  finished: false,
  containers: [{ name: CONTAINER, kind: 'app', ended: false, requestMilliCpu: 2000, limitMilliCpu: 2000 }],
} as const;
const RECORDS: readonly object[] = [
  { journal: 1, writtenBy: 'cpusetd 0.1.0', at: AT },
  { at: AT, kind: 'settings', version: '0.1.0', options, setAt: { 'node-name': `flag on ${FQDN}` } },
  { at: AT, kind: 'input', of: 'settings', options, reserved: '0', topology: describeMachine(machineOf(4, 2)) },
  { at: AT, kind: 'input', of: 'kept-spec', spec },
  { at: AT, kind: 'input', of: 'restored', source: { hasReported: false, awaited: [pod.uid] } },
  { at: AT, kind: 'input', of: 'event', event: { kind: 'create-container', pod, container: created } },
  {
    at: AT,
    kind: 'annotation-ignored',
    ...subject,
    annotation: 'cpusetd.io/policy',
    because: `"${VALUE}" is none of static`,
  },
  { at: AT, kind: 'annotation-ignored', ...subject, because: '"planted\\"quote" is not JSON' },
  { at: AT, kind: 'pinned', ...subject, cpus: '1,5', because: TEXT, policy: 'exclusive' },
  {
    at: AT,
    kind: 'moved',
    containers: 2,
    names: [`${NAMESPACE}/${POD}/${CONTAINER}`],
    causedBy: `${NAMESPACE}/${POD}/${CONTAINER}`,
    cpus: '0',
  },
  { at: AT, kind: 'input', of: 'event', event: { kind: 'pod-spec', spec } },
  { at: AT, kind: 'left-out', namespace: NAMESPACE, because: TEXT },
  { at: AT, kind: 'gap', names: [`${NAMESPACE}/${POD}/${CONTAINER}`], seconds: 1 },
  { at: AT, kind: 'alarm', alarm: 'api-server', subject: FQDN, because: TEXT },
  { at: AT, kind: 'of-a-later-version', found: { deep: [TEXT, { clientToken: SECRETS[1]! }] } },
];

/** Writes the node whose every file has private words. */
function writeNode(root: string): void {
  const assignment = {
    podUid: pod.uid,
    podNamespace: NAMESPACE,
    podName: POD,
    containerName: CONTAINER,
    kind: 'static',
    cpus: parseCpuList('1,5'),
    mems: CpuSet.empty,
    requested: 2,
    containerId: created.id,
    quotaLifted: false,
    rules: {
      policy: 'static',
      chosenBy: `policy.cpusetd.io/container.${CONTAINER}`,
      options: [],
      reserved: parseCpuList('0'),
    },
    because: TEXT,
    since: AT,
  } as const;
  const refusal = {
    podUid: pod.uid,
    podNamespace: NAMESPACE,
    podName: POD,
    containerName: CONTAINER,
    asked: 'creation',
    requested: 2,
    policy: 'static',
    code: 'RESOURCE_EXHAUSTED',
    because: TEXT,
    zones: [],
    firstAt: AT,
    lastAt: AT,
    times: 1,
  } as const;
  const files: Readonly<Record<string, string>> = {
    [`${HOST}/state/state.json`]: encodeState({
      writtenBy: '0.1.0',
      generation: 3,
      assignments: [assignment],
      pods: [spec],
    }),
    [`${HOST}/state/refusals.json`]: encodeRefusals([refusal]),
    [`${HOST}/state/state.json.bad-1`]: TEXT,
    [`${HOST}/state/journal/00000001.jsonl`]: `${RECORDS.map((record) => JSON.stringify(record)).join('\n')}\n{"torn":"${TEXT}`,
    'etc/hostname': `${FQDN}\n`,
    'etc/os-release': `ID=debian\nPRETTY_NAME="Debian of ${FQDN}"\nHOME_URL="${TEXT}"\n`,
    'etc/tuned/active_profile': `cpu-partitioning-${HOST}\n`,
    'proc/version': `Linux version 6.1.0 (root@${HOST}) #1 SMP\n`,
    'proc/cmdline': `root=/dev/sda ip=${ADDRESSES[0]!}::::${HOST}:eth0 isolcpus=2-3 key=${SECRETS[1]!} name="${NODE} x" -- --token ${SECRETS[2]!}\n`,
    'proc/stat': 'cpu  1 2 3\nintr 9 9 9\n',
    'proc/cpuinfo': 'processor\t: 0\nmodel name\t: Some CPU\n\nprocessor\t: 1\nmodel name\t: Some CPU\n',
    'proc/self/mountinfo': `30 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n31 1 0:3 / /mnt/${HOST} rw - nfs ${FQDN}:/export rw\n`,
    'proc/7/comm': 'kubelet\n',
    'proc/7/cmdline': ['kubelet', `--hostname-override=${KUBELET_NODE}`, `--node-ip=${ADDRESSES[0]!}`].join('\0'),
    'proc/7/status': 'Cpus_allowed_list:\t0-1\n',
    'proc/7/environ': `TOKEN=${SECRETS[1]!}`,
    'kubelet/config.yaml': [
      'kind: KubeletConfiguration',
      'cpuManagerPolicy: none',
      `cgroupRoot: /${HOST}`,
      `authentication: { token: ${SECRETS[1]!} }`,
      `clusterDomain: ${DOMAIN}`,
      `address: ${ADDRESSES[0]!}`,
    ].join('\n'),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

interface Made {
  readonly files: ReadonlyMap<string, string>;
  readonly root: string;
}

/** A report of that node, with a daemon whose status has private words too. */
async function reportOf(redaction: Redaction): Promise<Made> {
  let made: Made | undefined;
  await withAdminRig(async ({ folder: root, socketPath, start, backend }) => {
    writeNode(root);
    const { alarms } = sampleStatus.node;
    backend.current = {
      ...sampleStatus,
      node: {
        ...sampleStatus.node,
        runtimeName: `containerd on ${FQDN}`,
        alarms: [...alarms, { kind: 'api-server', subject: NODE, because: TEXT, since: AT }],
        gap: { from: AT, containers: 1, names: [`${NAMESPACE}/${POD}/${CONTAINER}`] },
        usage: { ...sampleUsage, sets: sampleUsage.sets.map((set) => ({ ...set, ...NAMED })) },
        qos: {
          ...sampleQos,
          because: TEXT,
          throttled: sampleQos.throttled.map((each) => ({ ...each, ...NAMED, because: TEXT })),
          recent: [
            {
              at: AT,
              action: 'evict',
              subject: `${NAMESPACE}/${EVICTED}`,
              outcome: 'done',
              because: `${EVICTED} was the largest`,
            },
            { at: AT, action: 'disable-scheduling', subject: NODE, outcome: 'done', because: TEXT },
          ],
        },
      },
      containers: [
        {
          ...container({ id: 'f', pod: POD, container: CONTAINER, placement: 'shared', requested: 0 }),
          namespace: NAMESPACE,
          podUid: 'uid-1',
          because: TEXT,
        },
      ],
    };
    await start();
    const given = {
      'state-dir': join(root, HOST, 'state'),
      'kubelet-root-dir': join(root, 'kubelet'),
      'nri-socket': join(root, `${HOST}.sock`),
      'cri-endpoint': join(root, 'cri.sock'),
      'admin-socket': socketPath,
      'node-name': NODE,
      'reserved-cpus': '0',
    };
    const flags = Object.fromEntries(Object.entries(given).map(([name, text]) => [name, [text]]));
    const loaded = await loadConfig({ flags, env: {} });
    if (!loaded.ok) throw new Error(loaded.problems.join());
    const roots = { procRoot: join(root, 'proc'), etcRoot: join(root, 'etc') };
    const { config, inForce } = loaded;
    const answerMs = 600_000; // a busy machine answers too
    const options = { config, inForce, problems: [] };
    const request = { options, redaction, version: '0.1.0', roots, at: new Date(AT), answerMs };
    const { archive } = await makeReport(request);
    made = { files: await extractReport(archive), root };
  });
  return made!;
}

/** The private words that are in the files, as `file: word`. */
function findWords(files: ReadonlyMap<string, string>, words: readonly string[]): readonly string[] {
  return [...files].flatMap(([name, text]) =>
    words.filter((word) => text.toLowerCase().includes(word.toLowerCase())).map((word) => `${name}: ${word}`),
  );
}

const OF_HOST = [HOST, DOMAIN, NODE, KUBELET_NODE, ...ADDRESSES];
const OF_VALUES = [VALUE, 'planted\\\\\\"quote', 'quote'];
const OF_PODS = [NAMESPACE, POD, CONTAINER, EVICTED];

describe.each<[Redaction, readonly string[]]>([
  ['standard', [...SECRETS, ...OF_HOST, ...OF_VALUES]],
  ['pods', [...SECRETS, ...OF_HOST, ...OF_VALUES, ...OF_PODS]],
  ['off', SECRETS],
])('a report with --redact %s', (redaction, absent) => {
  let files: ReadonlyMap<string, string>;
  beforeAll(async () => ({ files } = await reportOf(redaction)));
  const read = (name: string): unknown => JSON.parse(files.get(name)!);

  test('has every file but those that this node has not', () => {
    const names = [
      ...[
        'index.json',
        'daemon/status.json',
        'daemon/topology.json',
        'daemon/health.json',
        'check.json',
        'options.json',
      ],
      ...['state/files.json', 'state/verify.json', 'state/state.json', 'state/refusals.json', 'topology.jsonl'],
      ...['machine.json', 'sysfs.json', 'kernel.json', 'proc-stat.txt', 'kubelet.json', 'cgroups.json'],
      'journal/00000001.jsonl',
    ];
    expect([...files.keys()].sort()).toEqual(names.sort());
    expect(read('index.json')).toMatchObject({ report: 1, redaction, missing: [], writtenBy: 'cpusetd 0.1.0' });
  });

  test('has none of the private words in any file', () => {
    expect(findWords(files, absent)).toEqual([]);
    // The name of the machine that runs the test may be a part of another word.
    const own = new RegExp(`(?<![A-Za-z0-9])${hostname().replaceAll('.', '\\.')}(?![A-Za-z0-9])`);
    if (redaction !== 'off') expect([...files].filter(([, text]) => own.test(text))).toEqual([]);
  });

  test('has the other words: they were there', () => {
    const present = [...OF_HOST, ...OF_PODS, VALUE].filter((word) => !absent.includes(word));
    const found = new Set(findWords(files, present).map((each) => each.split(': ')[1]));
    expect([...found].sort()).toEqual([...present].sort());
  });

  test('its state can be read: the checksum fits', () => {
    const text = files.get('state/state.json')!;
    expect(decodeState(text)).toMatchObject({ ok: true, state: { generation: 3, assignments: [{ requested: 2 }] } });
    const { checksum, ...content } = JSON.parse(text) as Record<string, unknown>;
    expect(checksum).toBe(checksumOf(JSON.stringify(content)));
  });

  test('its journal can be replayed, with the same result as that of the node', async () => {
    const dir = join(makeDir(), 'journal');
    mkdirSync(dir);
    const path = join(dir, '00000001.jsonl');
    const replay = async (text: string): Promise<unknown> => {
      writeFileSync(path, text);
      const { status, stdout } = await runInProcess(['replay', dir, '--set', 'pod-policies=all', '-o', 'json']);
      expect(status).toBe(1); // some of its records were left out
      return JSON.parse(stdout, (key, value: unknown) =>
        ['pod', 'container', 'because'].includes(key) ? undefined : value,
      );
    };
    const original = RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('');
    const replayed = await replay(files.get('journal/00000001.jsonl')!);
    expect(replayed).toMatchObject({ requests: 1 });
    expect(replayed).toEqual(await replay(original));
  });
});

test('names have the same replacement in every file', async () => {
  const { files } = await reportOf('pods');
  const status = JSON.parse(files.get('daemon/status.json')!) as {
    containers: { namespace: string; pod: string; container: string }[];
  };
  const { namespace, pod: name, container: container } = status.containers[0]!;
  expect([namespace, name, container]).toEqual(['namespace-1', 'pod-1', 'container-1']);
  const state = JSON.parse(files.get('state/state.json')!) as { assignments: object[] };
  expect(state.assignments[0]).toMatchObject({ podNamespace: namespace, podName: name, containerName: container });
  expect(files.get('journal/00000001.jsonl')).toContain(`"causedBy":"${namespace}/${name}/${container}"`);
  expect(files.get('journal/00000001.jsonl')).toContain(`"policy.cpusetd.io/container.${container}":"exclusive"`);
});

test('the kernel: parameters that concern CPUs have their values, of others the name is told; CPUs of a kind are counted', async () => {
  const { files } = await reportOf('standard');
  expect(JSON.parse(files.get('kernel.json')!)).toMatchObject({
    commandLine: ['root=left-out', 'ip=left-out', 'isolcpus=2-3', 'key=left-out', 'name=left-out'],
    cpus: [{ count: 2, 'model name': 'Some CPU' }],
    cgroupMounts: [{ path: '/sys/fs/cgroup', type: 'cgroup2' }],
    processes: [{ pid: 7, name: 'kubelet', cpus: '0-1' }],
  });
  expect(files.get('proc-stat.txt')).toBe('cpu  1 2 3\n');
});

test('the journal comes last, before the index, and the name has the time but no host', async () => {
  const { files } = await reportOf('standard');
  expect([...files.keys()].slice(-2)).toEqual(['journal/00000001.jsonl', 'index.json']);
  expect(nameOfReport(new Date(AT))).toBe('cpusetd-report-20261124T100000Z');
});
