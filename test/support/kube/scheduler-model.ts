import { parseQuantity } from '../../../src/kube/quantity';

/**
 * Models of two schedulers that read the published objects, written after their sources: scheduler-plugins'
 * NodeResourceTopologyMatch (its filter, the list of its scores, and its over-reserving cache), and the plugin of the
 * same name of crane-scheduler. Only rules are modelled; informers, queues and their races are left out.
 */

/** Amounts by name of the resource: CPUs in thousandths, others unchanged. */
export type Resources = Readonly<Record<string, number>>;

export interface ContainerModel {
  readonly name: string;
  readonly requests: Resources;
  readonly limits: Resources;
}

export interface PodModel {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly initContainers?: readonly ContainerModel[];
  readonly containers: readonly ContainerModel[];
}

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly because: string };

type Fields = Readonly<Record<string, unknown>>;
type Qos = 'Guaranteed' | 'Burstable' | 'BestEffort';

const OK: Verdict = { ok: true };

/** As the API server sets it: only CPU and memory count. */
export function qosOf({ containers, initContainers = [] }: PodModel): Qos {
  const all = [...initContainers, ...containers];
  const amounts = (resources: Resources) => ['cpu', 'memory'].filter((name) => (resources[name] ?? 0) > 0);
  if (all.every(({ requests, limits }) => amounts(requests).length + amounts(limits).length === 0)) return 'BestEffort';
  const isExact = ({ requests, limits }: ContainerModel): boolean =>
    ['cpu', 'memory'].every((name) => (limits[name] ?? 0) > 0 && limits[name] === (requests[name] ?? limits[name]));
  return all.every(isExact) ? 'Guaranteed' : 'Burstable';
}

// scheduler-plugins

interface NumaNode {
  readonly id: number;
  /** Available amounts, by name of the resource. */
  readonly resources: Record<string, number>;
}

/** The length of its list of zones. */
const MOST_IDS = 64;

/**
 * The zones as the plugin reads them: type `Node`, named `node-<id>`. An id of 64 makes the scheduler panic (index
 * out of range), which is an Error here; zones with higher ids are left out.
 */
export function readZones({ zones }: Fields): NumaNode[] {
  return (zones as readonly { name: string; type: string; resources: readonly Record<string, string>[] }[]).flatMap(
    ({ name, type, resources }) => {
      const match = /^node-(\d+)$/.exec(name);
      if (type !== 'Node' || !match) return [];
      const id = Number(match[1]);
      if (id === MOST_IDS) throw new Error(`zone ${name} has no place in a list of ${MOST_IDS}`);
      if (id > MOST_IDS) return [];
      const amounts = resources.map(
        (resource) => [resource['name']!, amountOf(resource['name']!, resource['available'])] as const,
      );
      return [{ id, resources: Object.fromEntries(amounts) }];
    },
  );
}

/**
 * Puts scores into a list by the id of the zone. An id beyond the end of the list would make the scheduler panic:
 * throws Error then.
 */
export function placeScores(object: Fields): void {
  const zones = readZones(object);
  for (const { id } of zones) if (id >= zones.length) throw new Error(`index ${id} of ${zones.length} scores`);
}

export interface NodeModelOfScheduler {
  /** The object that was published. */
  readonly object: Fields;
  /** The Node's `status.allocatable`. */
  readonly allocatable: Resources;
  /** Pods that passed the filter and that the over-reserving cache still counts, on every zone. */
  readonly assumed?: readonly PodModel[];
}

/** True when the plugin lets the pod onto the node. */
export function filterTopologyMatch(
  pod: PodModel,
  { object, allocatable, assumed = [] }: NodeModelOfScheduler,
): Verdict {
  const qos = qosOf(pod);
  const all = [...(pod.initContainers ?? []), ...pod.containers];
  if (qos === 'BestEffort' && !all.some(({ requests }) => Object.keys(requests).some((name) => !isNative(name))))
    return OK;
  const attribute = (name: string) =>
    (object['attributes'] as readonly Record<string, string>[]).find((attribute) => attribute['name'] === name)?.[
      'value'
    ];
  if (attribute('topologyManagerPolicy') !== 'single-numa-node') return OK;

  const zones = readZones(object);
  for (const other of assumed) overReserve(zones, effectiveRequest(other));
  const fit = (requests: Resources) => findZone(zones, requests, qos, allocatable);
  if (attribute('topologyManagerScope') === 'pod')
    return fit(effectiveRequest(pod)) === undefined ? { ok: false, because: 'cannot align pod' } : OK;
  // Init containers run one after the other, before all others: their requests are not added up.
  for (const { requests } of pod.initContainers ?? [])
    if (fit(requests) === undefined) return { ok: false, because: 'cannot align init container' };
  for (const { requests } of pod.containers) {
    const id = fit(requests);
    if (id === undefined) return { ok: false, because: 'cannot align container' };
    take(
      zones.find((zone) => zone.id === id),
      requests,
      qos,
    );
  }
  return OK;
}

/**
 * The lowest zone that has enough of every resource; undefined when none has. Zone 0 when no resource is bound to
 * zones.
 */
function findZone(
  zones: readonly NumaNode[],
  requests: Resources,
  qos: Qos,
  allocatable: Resources,
): number | undefined {
  let fitting: Set<number> | undefined;
  for (const [name, amount] of Object.entries(requests)) {
    if (amount === 0) continue;
    if (allocatable[name] === undefined) return undefined;
    const having = zones.filter(({ resources }) => resources[name] !== undefined);
    if (having.length === 0 && isHostLevel(name)) continue;
    const suitable = having.filter(
      ({ resources }) => (qos !== 'Guaranteed' && isNumaAffine(name)) || resources[name]! >= amount,
    );
    const ids = new Set(suitable.map(({ id }) => id));
    fitting = fitting === undefined ? ids : new Set([...fitting].filter((id) => ids.has(id)));
    if (fitting.size === 0) return undefined;
  }
  return fitting === undefined ? 0 : Math.min(...fitting);
}

function take(zone: NumaNode | undefined, requests: Resources, qos: Qos): void {
  if (!zone) return;
  for (const [name, amount] of Object.entries(requests)) {
    if ((qos !== 'Guaranteed' && isNumaAffine(name)) || zone.resources[name] === undefined) continue;
    zone.resources[name] -= amount;
  }
}

/** Subtracts a pod's requests from all zones, because its zone is not known yet. */
function overReserve(zones: readonly NumaNode[], requests: Resources): void {
  for (const { resources } of zones)
    for (const [name, amount] of Object.entries(requests))
      if (resources[name] !== undefined) resources[name] = Math.max(0, resources[name] - amount);
}

/** The sum over app containers, or what one init container needs, if that is more. */
function effectiveRequest({ containers, initContainers = [] }: PodModel): Resources {
  const sum: Record<string, number> = {};
  for (const { requests } of containers)
    for (const [name, amount] of Object.entries(requests)) sum[name] = (sum[name] ?? 0) + amount;
  for (const { requests } of initContainers)
    for (const [name, amount] of Object.entries(requests)) sum[name] = Math.max(sum[name] ?? 0, amount);
  return sum;
}

/** True for resources of Kubernetes: those without a domain, or with a domain of kubernetes.io. */
function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

function isHostLevel(name: string): boolean {
  return name === 'ephemeral-storage' || name === 'storage' || !isNative(name);
}

function isNumaAffine(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

// crane-scheduler

const RESULT = 'topology.crane.io/topology-result';

export interface CraneVerdict {
  readonly because?: string;
  /** The text that its PreBind would write to the pod; undefined when the pod passes without one, or is refused. */
  readonly result?: string;
}

interface CraneZone {
  readonly name: string;
  /** Thousandths of a CPU. */
  readonly allocatable: number;
  readonly used: number;
}

/** The zones as crane-scheduler counts them: the published amounts, minus those in the annotations of assigned pods. */
export function countCraneZones({ zones }: Fields, assigned: readonly Pick<PodModel, 'annotations'>[]): CraneZone[] {
  const results = assigned.flatMap(({ annotations }) => readResult(annotations?.[RESULT]));
  return (zones as readonly { name: string; resources: { allocatable: Record<string, string> } }[]).map(
    ({ name, resources }) => ({
      name,
      allocatable: amountOf('cpu', resources.allocatable['cpu']),
      used: results.filter((result) => result.name === name).reduce((sum, { cpu }) => sum + cpu, 0),
    }),
  );
}

/** Filters a pod and gives its result, with the bugs of the original. `topologyAwareResources` is the default, cpu. */
export function filterCrane(
  { annotations = {}, containers }: PodModel,
  object: Fields,
  assigned: readonly Pick<PodModel, 'annotations'>[],
): CraneVerdict {
  if (annotations['topology.crane.io/cpu-policy'] === 'none') return {};
  const targets = containers.filter(({ requests, limits }) => {
    const cpu = requests['cpu'] ?? 0;
    return cpu > 0 && cpu === limits['cpu'] && cpu % 1000 === 0;
  });
  if (targets.length === 0) return {};
  const { cpuManagerPolicy, topologyManagerPolicy } = object['craneManagerPolicy'] as Record<string, string>;
  if (cpuManagerPolicy !== 'Static') return {};
  const request = targets.reduce((sum, { requests }) => sum + requests['cpu']!, 0);
  const aware =
    readBoolean(annotations['topology.crane.io/topology-awareness']) ??
    topologyManagerPolicy === 'SingleNUMANodePodLevel';
  const byFree = countCraneZones(object, assigned).sort((a, b) => b.allocatable - b.used - (a.allocatable - a.used));
  if (aware) {
    const fitting = byFree.filter(({ allocatable, used }) => request <= allocatable - used);
    return fitting.length === 0
      ? { because: 'node(s) had insufficient resource of NUMA node' }
      : { result: writeResult([{ name: fitting[0]!.name, cpu: request }]) };
  }
  const shares: { name: string; cpu: number }[] = [];
  let rest = request;
  for (const { name, allocatable, used } of byFree) {
    if (rest <= 0) break;
    const cpu = Math.min(rest, Math.floor(allocatable / 1000) * 1000 - used);
    rest -= cpu;
    if (cpu > 0) shares.push({ name, cpu });
  }
  return { result: writeResult(shares.sort((a, b) => (a.name < b.name ? -1 : 1))) };
}

function writeResult(shares: readonly { readonly name: string; readonly cpu: number }[]): string {
  return JSON.stringify(
    shares.map(({ name, cpu }) => ({ name, type: 'Node', resources: { capacity: { cpu: String(cpu / 1000) } } })),
  );
}

/** Decodes a result as Go does, for the forms that tests write. */
function readResult(text: string | undefined): { readonly name: string; readonly cpu: number }[] {
  try {
    const zones = JSON.parse(text ?? '[]') as readonly {
      name: string;
      type: string;
      resources?: { capacity?: object };
    }[];
    return zones
      .filter(({ type }) => type === 'Node')
      .map(({ name, resources }) => ({ name, cpu: amountOf('cpu', (resources?.capacity as Resources)['cpu'] ?? 0) }));
  } catch {
    return [];
  }
}

function readBoolean(text: string | undefined): boolean | undefined {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text ?? '')) return true;
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text ?? '') ? false : undefined;
}

/** CPUs in thousandths, other resources in whole units. */
function amountOf(name: string, quantity: unknown): number {
  const billionths = parseQuantity(quantity);
  if (billionths === undefined) throw new Error(`${name}: ${String(quantity)} is no quantity`);
  return Number(billionths) / (name === 'cpu' ? 1e6 : 1e9);
}
