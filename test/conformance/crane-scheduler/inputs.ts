import { createRandom, type Random } from '../../support/random';

// Random nodes, policies and pods for crane-scheduler's plugins and ours. The same seed gives the same inputs: the
// recorded answers are for them.

const SEED = 20261123;
export const LOAD_COUNT = 10_000;
export const TOPOLOGY_COUNT = 5_000;

export interface LoadInput {
  readonly kind: 'load';
  readonly tz: string;
  readonly nowMs: number;
  readonly node: string;
  readonly policy: {
    readonly syncPolicy: readonly { readonly name: string; readonly period: string }[];
    readonly predicate: readonly { readonly name: string; readonly maxLimitPecent: number }[];
    readonly priority: readonly { readonly name: string; readonly weight: number }[];
  };
  readonly annotations: Readonly<Record<string, string>>;
}

type Resources = Readonly<Record<string, string>>;
export interface PodObject {
  readonly metadata: {
    readonly uid: string;
    readonly annotations: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string }[];
  };
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly resources: { readonly requests: Resources; readonly limits: Resources };
    }[];
  };
}

export interface TopologyInput {
  readonly kind: 'topology';
  readonly topo: {
    readonly zones: readonly {
      readonly name: string;
      readonly type: 'Node';
      readonly resources: { readonly allocatable: Resources };
    }[];
    readonly nodeAware: boolean;
    readonly static: boolean;
    readonly resources: readonly string[];
    readonly others: readonly PodObject[];
    readonly pod: PodObject;
  };
}

/** 10,000 nodes with annotations and policies. */
export function* makeLoadInputs(): Generator<LoadInput> {
  const random = createRandom(SEED);
  for (let n = 0; n < LOAD_COUNT; n++) yield makeLoadInput(random, n);
}

/** 5,000 nodes with zones and pods. */
export function* makeTopologyInputs(): Generator<TopologyInput> {
  const random = createRandom(SEED + 1);
  for (let n = 0; n < TOPOLOGY_COUNT; n++) yield makeTopologyInput(random, n);
}

const ZONES = ['Asia/Shanghai', 'UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', ''];
const METRICS = ['cpu_usage_avg_5m', 'cpu_usage_max_avg_1h', 'mem_usage_avg_5m', 'mem_usage_max_avg_1h'];
const PERIODS_S = [60, 180, 900, 10_800];
/** Hours around changes of the clock in these zones, and others. */
const TIMES = [
  '2023-03-26T00:30:00Z',
  '2023-10-29T00:45:00Z',
  '2024-03-10T06:50:00Z',
  '2024-11-03T05:30:00Z',
  '2026-06-01T12:00:00Z',
];

function makeLoadInput(random: Random, n: number): LoadInput {
  const tz = random.pick(ZONES);
  const nowMs = Date.parse(random.pick(TIMES)) + random.int(0, 7_200) * 1_000;
  const syncPolicy = METRICS.filter(() => random.chance(0.9)).flatMap((name) => {
    const entry = { name, period: `${random.pick(PERIODS_S)}s` };
    if (random.chance(0.05)) return [{ name, period: '0s' }, entry];
    return random.chance(0.05) ? [entry, { name, period: '60s' }] : [entry];
  });
  const limits = [0, 0.5, 0.65, 0.75, 1];
  const predicate = METRICS.filter(() => random.chance(0.7)).map((name) => ({
    name,
    maxLimitPecent: random.pick(limits),
  }));
  const weights = random.chance(0.03) ? [0] : [0, 0.2, 0.3, 0.5, 1, 3];
  const priority = METRICS.filter(() => random.chance(0.8)).map((name) => ({ name, weight: random.pick(weights) }));
  const annotations: Record<string, string> = {};
  const periodOf = (metric: string): number =>
    parseInt(syncPolicy.find(({ name, period }) => name === metric && period !== '0s')?.period ?? '180', 10);
  for (const metric of METRICS)
    if (random.chance(0.9))
      annotations[metric] = `${makeNumber(random)},${makeStamp(random, tz, nowMs, periodOf(metric))}`;
  if (random.chance(0.6))
    annotations['node_hot_value'] =
      `${random.pick(['0', '1', '2', '3', '4.6', '12', 'x'])},${makeStamp(random, tz, nowMs, 0)}`;
  return { kind: 'load', tz, nowMs, node: `node-${n}`, policy: { syncPolicy, predicate, priority }, annotations };
}

const ODD_NUMBERS = [
  'NaN',
  'Inf',
  '+Inf',
  '-0.1',
  '-0',
  '+.5',
  '5.',
  '1e-1',
  '1E0',
  ' 0.5',
  '0.5 ',
  '',
  '.',
  'e1',
  '1e999',
  '0,5',
  'half',
];

function makeNumber(random: Random): string {
  if (random.chance(0.08)) return random.pick(ODD_NUMBERS);
  if (random.chance(0.2)) return random.pick(['0.65000', '0.65001', '0.75000', '0.50000', '1.00000', '0.00000']);
  return (random.int(0, 130_000) / 100_000).toFixed(5);
}

function makeStamp(random: Random, tz: string, nowMs: number, periodS: number): string {
  const limitMs = (periodS + 300) * 1_000;
  const ageMs = random.pick([0, limitMs - 1_000, limitMs, limitMs + 1_000, random.int(0, 2 * limitMs), -60_000]);
  const stamp = formatLocal(tz === '' ? 'Asia/Shanghai' : tz, nowMs - ageMs);
  if (!random.chance(0.06)) return stamp;
  return random.pick([
    stamp.replace('Z', ''),
    stamp.replace('Z', '.25Z'),
    stamp.replace('Z', ',5Z'),
    stamp.replace('Z', '+01:00'),
    stamp.replace('T', ' '),
    stamp.replace(/T0?/, 'T'),
    stamp.replace(/-\d\d-/, '-13-'),
    stamp.replace(/:\d\dZ/, ':60Z'),
    `${stamp},`,
    'Z',
    '',
  ]);
}

/** Local time with the letter Z, by another way than the code under test. */
function formatLocal(timeZone: string, ms: number): string {
  const local = new Date(ms).toLocaleString('sv-SE', { timeZone });
  return `${local.replace(' ', 'T')}Z`;
}

function makeTopologyInput(random: Random, n: number): TopologyInput {
  const count = random.pick([1, 2, 2, 4, 4, 8, 12]);
  const hasFractions = random.chance(0.05);
  const hasMemory = random.chance(0.2);
  const zones = Array.from({ length: count }, (_, id) => ({
    name: `node${id}`,
    type: 'Node' as const,
    resources: {
      allocatable: {
        cpu: hasFractions ? `${random.int(1, 16)}500m` : String(random.int(0, 16)),
        memory: `${random.int(1, 64)}Gi`,
      },
    },
  }));
  const others = Array.from({ length: random.int(0, 2 * count) }, (_, i) => makeOther(random, `o${i}`, count));
  return {
    kind: 'topology',
    topo: {
      zones,
      others,
      pod: makePod(random, `p${n}`),
      nodeAware: random.chance(0.6),
      static: random.chance(0.97),
      resources: hasMemory ? ['cpu', 'memory'] : ['cpu'],
    },
  };
}

/** A bound pod with a result, which some authors write themselves. */
function makeOther(random: Random, uid: string, zoneCount: number): PodObject {
  const cpus = random.int(1, 8);
  const claimed = random.chance(0.05) ? cpus + random.int(1, 30) : cpus;
  const result = [
    {
      name: `node${random.int(0, zoneCount - 1)}`,
      type: random.chance(0.97) ? 'Node' : 'Socket',
      resources: { capacity: { cpu: String(claimed), memory: '1Gi' } },
    },
  ];
  const requests = { cpu: String(cpus), memory: '1Gi' };
  const text = random.chance(0.02) ? '[' : JSON.stringify(result);
  return {
    metadata: { uid, annotations: { 'topology.crane.io/topology-result': text } },
    spec: { containers: [{ name: 'main', resources: { requests, limits: requests } }] },
  };
}

function makePod(random: Random, uid: string): PodObject {
  const annotations: Record<string, string> = {};
  if (random.chance(0.1))
    annotations['topology.crane.io/cpu-policy'] = random.pick(['none', 'exclusive', 'numa', 'other']);
  if (random.chance(0.3))
    annotations['topology.crane.io/topology-awareness'] = random.pick(['true', 'false', 'T', '0', 'yes', '']);
  const containers = Array.from({ length: random.int(1, 3) }, (_, i) => {
    const cpu = random.pick(['1', '2', '3', '4', '6', '8', '2000m', '500m', '1500m', '0']);
    const memory = `${random.int(1, 24)}Gi`;
    const limit = random.chance(0.85) ? cpu : '9';
    return { name: `c${i}`, resources: { requests: { cpu, memory }, limits: { cpu: limit, memory } } };
  });
  const owned = random.chance(0.03) ? { ownerReferences: [{ kind: 'DaemonSet' }] } : {};
  return { metadata: { uid, annotations, ...owned }, spec: { containers } };
}
