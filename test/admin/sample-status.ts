import type { AdminBackend } from '../../src/admin/model/backend';
import type {
  AssignmentStatus,
  ContainerStatus,
  Status,
  StatusChange,
  TopologyStatus,
} from '../../src/admin/model/status';
import type { LentStatus, QosStatus, UsageStatus } from '../../src/admin/model/qos-status';
import type { ExplainQuery, Explanation, RefusedContainer } from '../../src/admin/model/explanation';
import type { ExclusiveResources } from '../../src/admin/model/pod-resources';
import { parseCpuList } from '../../src/core/cpuset';
import { CpusetdError } from '../../src/core/errors';
import { buildTopology } from '../../src/core/topology';

const at = '2026-11-21T10:00:00.000Z';
const rules = { policy: 'static', options: ['full-pcpus-only'], reserved: parseCpuList('0') };

export const sampleUsage: UsageStatus = {
  at,
  busyMs: 4.5,
  cpuCores: 8,
  cpuPercent: 37.5,
  memoryBytes: 12 * 2 ** 30,
  memoryTotalBytes: 32 * 2 ** 30,
  load1: 3.2,
  exclusiveIdleMilliCpu: 1_250,
  exclusiveOwnersMilliCpu: 2_500,
  exclusiveOthersMilliCpu: 250,
  sets: [
    {
      namespace: 'default',
      pod: 'web',
      container: 'app',
      containerId: 'a'.repeat(64),
      cpus: parseCpuList('2-3'),
      usedMilliCpu: 750.5,
      waitMsPerSecond: 12.25,
      throttledPercent: 20,
    },
    {
      namespace: 'default',
      pod: 'far',
      container: 'numa',
      containerId: 'd',
      cpus: parseCpuList('1,6-7'),
      usedMilliCpu: 3_000,
    },
  ],
};

export const sampleQos: QosStatus = {
  mode: 'enforce',
  because: '',
  rules: [
    {
      rule: 'busy/cpu',
      state: 'triggered',
      action: 'slow-down',
      because: 'cpu_total_utilization is 81 for 3 readings, above 75',
    },
    { rule: 'busy/memory', state: 'restored', action: 'clear', because: 'memory_total_usage is below its threshold' },
  ],
  schedulingDisabled: { because: 'busy/cpu is triggered', since: at },
  throttled: [
    {
      namespace: 'batch',
      pod: 'job',
      container: 'main',
      containerId: 'f',
      originalQuotaUs: 200_000,
      quotaUs: 120_000,
      periodUs: 100_000,
      because: 'busy/cpu is triggered',
      since: at,
    },
    {
      namespace: 'batch',
      pod: 'mapper',
      container: 'main',
      containerId: 'g',
      originalQuotaUs: -1,
      quotaUs: 50_000,
      periodUs: 100_000,
      because: 'busy/cpu is triggered',
      since: at,
    },
  ],
  recent: [
    {
      at,
      action: 'throttle',
      subject: 'batch/job/main',
      outcome: 'done',
      because: 'busy/cpu is triggered',
    },
    {
      at,
      action: 'evict',
      subject: 'batch/old',
      outcome: 'failed',
      because: 'a PodDisruptionBudget does not allow it',
    },
  ],
  actionsLeft: 9,
  evictionsLeft: 2,
};

export const sampleLent: LentStatus = {
  cpuMilli: 2_500,
  memoryBytes: 6 * 2 ** 30,
  because: '40 % of the node is kept back',
  since: at,
};

/** Has every field, and each optional field both set and unset. */
export const sampleStatus: Status = {
  node: {
    nodeName: 'worker-1',
    refused: {
      containers: 2,
      latest: [
        {
          podUid: 'uid-big',
          namespace: 'default',
          pod: 'big',
          container: 'solver',
          asked: 'creation',
          because: 'no 4 CPUs are free',
          lastAt: at,
          times: 3,
        },
      ],
    },
    policy: 'static',
    policyOptions: ['full-pcpus-only', 'strict-cpu-reservation'],
    online: parseCpuList('0-7'),
    reserved: parseCpuList('0'),
    allocatable: parseCpuList('1-7'),
    sharedPool: parseCpuList('0-1,6-7'),
    free: parseCpuList('1,6-7'),
    isolated: parseCpuList('7'),
    mode: 'nri',
    runtimeName: 'containerd',
    runtimeVersion: 'v2.1.9',
    nri: { state: 'ready', since: at, reason: '' },
    cri: { state: 'connecting', since: at, reason: 'connection refused' },
    kube: { state: 'connecting', since: at, reason: 'it did not answer in time', heardAt: at, pods: 7 },
    generation: 12,
    startedAt: at,
    version: '0.1.0',
    gap: { from: at, to: '2026-11-21T10:00:02.500Z', containers: 2, names: ['default/web/app'] },
    fixedIrqs: [24, 31],
    usage: sampleUsage,
    qos: sampleQos,
    lent: sampleLent,
    alarms: [{ kind: 'repairs-stopped', subject: 'a'.repeat(64), because: 'someone changes it again', since: at }],
  },
  containers: [
    container({ id: 'b'.repeat(64), pod: 'web', container: 'sidecar', placement: 'shared', requested: 0 }),
    {
      ...container({ id: 'a'.repeat(64), pod: 'web', container: 'app', placement: 'exclusive', requested: 2 }),
      promise: { cpus: parseCpuList('2-3'), mems: parseCpuList('0'), quotaUs: -1, since: at },
      observation: {
        cpus: parseCpuList('2-3'),
        effectiveCpus: parseCpuList('2'),
        mems: parseCpuList('0'),
        quotaUs: -1,
        podQuotaUs: 200_000,
        threads: { looked: 5, narrower: 1, narrowerCpus: parseCpuList('2'), outside: parseCpuList('') },
        at,
      },
      verdict: { kind: 'violated', reason: 'CPU 3 is offline', since: at },
      drift: { drifts: 13, repairs: 8, failedRepairs: 1, lastAt: at },
      foreign: { at, percent: 37.5, threads: 40, most: 'stress' },
      kind: 'static',
      rules,
    },
    {
      ...container({ id: 'd', pod: 'far', container: 'numa', placement: 'numa', requested: 2 }),
      kind: 'numa',
      nodes: parseCpuList('0-1'),
      rules: { ...rules, policy: 'numa', chosenBy: 'topology.crane.io/cpu-policy' },
    },
    { ...container({ id: 'e', pod: 'far', container: '(pause)', placement: 'shared', requested: 0 }), pause: true },
    {
      ...container({ id: 'c', pod: 'old', container: 'x', placement: 'left-alone', requested: 0 }),
      because: 'policy none',
    },
  ],
  idle: [
    {
      podUid: 'uid-job',
      namespace: 'default',
      pod: 'job',
      container: 'init',
      kind: 'exclusive',
      scope: 'pod',
      cpus: parseCpuList('4-5'),
      mems: parseCpuList(''),
      requested: 2,
      because: 'two free cores of socket 0',
      since: at,
      rules: { ...rules, options: [] },
    },
  ],
};

export function container(
  owner: Pick<ContainerStatus, 'id' | 'pod' | 'container' | 'placement' | 'requested'>,
): ContainerStatus {
  return {
    ...owner,
    podUid: `uid-${owner.pod}`,
    namespace: 'default',
    ...(owner.placement !== 'left-alone' && { promise: { cpus: parseCpuList('0-1,6-7'), mems: parseCpuList('') } }),
    verdict: { kind: owner.placement === 'shared' ? 'kept' : 'unknown', reason: '', since: at },
    because: 'not a whole number of CPUs',
    since: at,
  };
}

/** The assignments of the sample status, as a list. */
const sampleAssignments: readonly AssignmentStatus[] = [
  ...sampleStatus.idle.map((idle) => ({ ...idle, containerId: '' })),
  ...sampleStatus.containers.flatMap(({ id, kind, rules, promise, nodes, ...rest }) =>
    kind && rules
      ? [
          {
            podUid: rest.podUid,
            namespace: rest.namespace,
            pod: rest.pod,
            container: rest.container,
            containerId: id,
            kind,
            cpus: parseCpuList(kind === 'numa' ? '' : promise!.cpus.toString()),
            ...(nodes && { nodes }),
            mems: parseCpuList(promise!.mems.toString()),
            requested: rest.requested,
            because: rest.because,
            since: rest.since,
            rules,
          },
        ]
      : [],
  ),
];

/** 2 sockets with 2 cores of 2 CPUs each, and an offline CPU. */
export const sampleTopology: TopologyStatus = {
  topology: buildTopology({
    cpus: [0, 1, 2, 3, 4, 5, 6, 7].map((id) => {
      const socket = Math.floor((id % 4) / 2);
      return { id, core: id % 4, socket, numaNode: socket, uncoreCache: socket };
    }),
    isolated: parseCpuList('7'),
    memoryNodes: [0, 1].map((id) => ({ id, memoryBytes: 2 ** 33, distances: new Map<number, number>() })),
  }),
  offline: parseCpuList('8'),
  node: sampleStatus.node,
  assignments: sampleAssignments,
};

const sampleResources: ExclusiveResources = {
  pods: [
    {
      namespace: 'default',
      pod: 'web',
      shared: { cpus: parseCpuList(''), memory: [] },
      containers: [
        {
          container: 'app',
          cpus: parseCpuList('2-3'),
          memory: [{ bytes: 2 ** 32, nodes: parseCpuList('0-1') }],
        },
        { container: 'sidecar', cpus: parseCpuList(''), memory: [] },
      ],
    },
    {
      namespace: 'default',
      pod: 'job',
      shared: { cpus: parseCpuList('4-5'), memory: [] },
      containers: [{ container: 'init', cpus: parseCpuList(''), memory: [] }],
    },
  ],
  allocatable: { cpus: parseCpuList('1-7'), memory: [{ bytes: 2 ** 33, nodes: parseCpuList('0') }] },
};

export const sampleRefused: RefusedContainer = {
  podUid: 'uid-3',
  namespace: 'default',
  pod: 'db',
  container: 'main',
  asked: 'creation',
  requested: 4,
  policy: 'exclusive',
  chosenBy: 'cpusetd.io/policy',
  code: 'RESOURCE_EXHAUSTED',
  because: 'asked for 4 exclusive CPUs, 3 can be given now',
  firstAt: '2026-11-21T10:00:00.000Z',
  lastAt: '2026-11-21T10:05:00.000Z',
  times: 12,
  zones: [
    { node: 0, allocatable: 3, free: 1, freeNow: 0, podsNow: 2 },
    { node: 1, allocatable: 4, free: 2, freeNow: 2, podsNow: 1 },
  ],
  now: 'it would be refused: asked for 4 exclusive CPUs, 2 can be given now',
  fitsNow: false,
  remedy: '2 more CPUs have to come free',
};

/** A backend with a status that the test can replace. It counts its watchers. */
export class SampleBackend implements AdminBackend {
  current = sampleStatus;
  shownTopology = sampleTopology;
  /** The answer to a number of CPUs, instead of the default that they fit. */
  whatIf: Explanation | undefined;
  refused: readonly RefusedContainer[] = [sampleRefused];
  readonly asked: ExplainQuery[] = [];
  private readonly listeners = new Set<(change: StatusChange) => void>();

  get watchers(): number {
    return this.listeners.size;
  }

  status(): Status {
    return this.current;
  }

  watch(listener: (change: StatusChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  emit(change: StatusChange): void {
    for (const listener of this.listeners) listener(change);
  }

  assignments(): readonly AssignmentStatus[] {
    return sampleAssignments;
  }

  topology(): TopologyStatus {
    return this.shownTopology;
  }

  podResources(): ExclusiveResources {
    return sampleResources;
  }

  explain(query: ExplainQuery): Explanation {
    this.asked.push(query);
    const steps = [{ rule: 'whole-core', took: parseCpuList('2-3'), because: 'the first free core' }];
    if (query.kind === 'cpus') {
      if (query.count === 13) throw new Error('secret of the inside');
      return this.whatIf ?? { kind: 'what-if', fits: true, cpus: parseCpuList('6-7'), because: 'there is room', steps };
    }
    const found = this.current.containers.filter(
      ({ pod, container: name }) => pod === query.pod && (query.container === '' || name === query.container),
    );
    if (query.pod === sampleRefused.pod)
      return { kind: 'containers', containers: [], idle: [], refused: this.refused, others: [] };
    if (found.length === 0) throw new CpusetdError('NOT_FOUND', `no pod ${query.pod}`);
    return {
      kind: 'containers',
      containers: found.map((container) => ({ container: container, steps })),
      idle: this.current.idle,
      refused: [],
      others: [],
    };
  }
}
