import { guaranteedBySpec } from '../../core/inference/entitle-by-spec';
import { sumPodCpus, sumPodRequest } from '../../core/inference/pod-cpus';
import { asArray, asObject, asString, toWatchedPod, type JsonObject } from '../../kube';
import { CPU, NO_AMOUNTS, readAmount, readAmounts, type Amounts, type ZoneAmounts } from './amounts';
import { readTopologyResult, TOPOLOGY_RESULT } from './topology-result';

/** The resources that a pod wants from NUMA zones. */
export interface PodRequest {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Pods of a DaemonSet run on every node, whatever its load and its zones. */
  readonly isOfDaemonSet: boolean;
  /** The sum over the containers with whole CPUs, of the aware resources; empty when there is no such container. */
  readonly request: Amounts;
  /** The same without CPU, for a loop over thousands of nodes. */
  readonly others: readonly (readonly [resource: string, amount: number])[];
  /** On nodes that give each container CPUs of its own. */
  readonly own: OwnCpus;
  /** All CPUs in one zone, or anywhere; undefined = as the node has it. */
  readonly awareness: boolean | undefined;
}

/** CPUs that the containers of a pod get for themselves, in thousandths: init containers and sidecars too, but in Guaranteed pods only. */
export interface OwnCpus {
  readonly counts: readonly number[];
  /** The most that the pod needs at one time: init containers run before the others. */
  readonly peak: number;
}

const CPU_POLICY = 'topology.crane.io/cpu-policy';
const AWARENESS = 'topology.crane.io/topology-awareness';
/** Go's boolean texts. */
const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/**
 * Reads a pod as the PreFilter of crane-scheduler's NodeResourceTopologyMatch does: app containers whose CPU request is a whole number
 * and their limit count, unless the pod's CPU policy is `none`.
 *
 * @param resources whose amounts are looked at in zones
 */
export function readPodRequest(pod: unknown, resources: readonly string[]): PodRequest {
  const { metadata, spec } = asObject(pod);
  const { uid, namespace, name, annotations, ownerReferences } = asObject(metadata);
  const notes = asObject(annotations);
  const targets =
    noteOf(notes, CPU_POLICY) === 'none' || !resources.includes(CPU)
      ? []
      : asArray(asObject(spec)['containers']).map(resourcesOf).filter(wantsWholeCpus);
  const request = targets.length === 0 ? NO_AMOUNTS : sumRequests(targets, resources);
  return {
    uid: asString(uid),
    namespace: asString(namespace),
    name: asString(name),
    isOfDaemonSet: asArray(ownerReferences).some((owner) => asObject(owner)['kind'] === 'DaemonSet'),
    request,
    others: [...request].filter(([resource]) => resource !== CPU),
    own: targets.length === 0 ? NO_OWN : countOwn(pod),
    awareness: parseBoolean(noteOf(notes, AWARENESS)),
  };
}

/**
 * The amounts that a pod takes of zones, as its topology-result says; undefined when it takes none.
 *
 * Its author can write that annotation. So in each zone at most as much counts as the pod requests in all, and a pod that requests no CPU
 * takes nothing. The sum over the zones is not bounded: cpusetd subtracts `max(0, held - announced)` from each zone that it publishes, with
 * the same bound, and with less than min(announced, held) CPUs would be given twice.
 */
export function readPodUse(pod: unknown): ZoneAmounts | undefined {
  const { metadata, spec } = asObject(pod);
  const text = noteOf(asObject(asObject(metadata)['annotations']), TOPOLOGY_RESULT);
  if (text === undefined) return undefined;
  const requestOf = memoize((resource) => sumRequestOf(asObject(spec), resource));
  if (requestOf(CPU) === 0) return undefined;
  const zones = [...readTopologyResult(text)].map(([zone, amounts]) => {
    const bounded = [...amounts].map(([resource, of]) => [resource, Math.min(of, requestOf(resource))] as const);
    return [zone, new Map(bounded.filter(([, amount]) => amount > 0))] as const;
  });
  const taken = zones.filter(([, amounts]) => amounts.size > 0);
  return taken.length === 0 ? undefined : new Map(taken);
}

interface Resources {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

function resourcesOf(container: unknown): Resources {
  const { requests, limits } = asObject(asObject(container)['resources']);
  return { requests: readAmounts(asObject(requests)), limits: readAmounts(asObject(limits)) };
}

function wantsWholeCpus({ requests, limits }: Resources): boolean {
  const cpu = requests.get(CPU) ?? 0;
  return cpu > 0 && cpu % 1_000 === 0 && cpu === limits.get(CPU);
}

function sumRequests(targets: readonly Resources[], resources: readonly string[]): Amounts {
  const sums = resources.map((resource): [string, number] => [
    resource,
    targets.reduce((sum, { requests }) => sum + (requests.get(resource) ?? 0), 0),
  ]);
  return new Map(sums.filter(([, amount]) => amount > 0));
}

function countOwn(pod: unknown): OwnCpus {
  const spec = toWatchedPod(pod)?.spec;
  if (!spec) return NO_OWN;
  const containers = spec.containers.map((container) => {
    const request = guaranteedBySpec(spec, container);
    return { kind: container.kind, cpus: request.kind === 'exclusive' ? request.count * 1_000 : 0 };
  });
  return { counts: containers.map(({ cpus }) => cpus).filter((cpus) => cpus > 0), peak: sumPodCpus(containers) };
}

const NO_OWN: OwnCpus = { counts: [], peak: 0 };

/** The request of the whole pod, as the scheduler counts it. */
function sumRequestOf(spec: JsonObject, resource: string): number {
  const read = (of: unknown): number =>
    readAmount(resource, asObject(asObject(asObject(of)['resources'])['requests'])[resource]) ?? 0;
  const init = asArray(spec['initContainers']).map((one) => {
    const kind = asObject(one)['restartPolicy'] === 'Always' ? ('sidecar' as const) : ('init' as const);
    return { kind, requestMilliCpu: read(one) };
  });
  const apps = asArray(spec['containers']).map((one) => ({ kind: 'app' as const, requestMilliCpu: read(one) }));
  return sumPodRequest({ containers: [...init, ...apps], podResources: { requestMilliCpu: read(spec) } });
}

function memoize(compute: (key: string) => number): (key: string) => number {
  const known = new Map<string, number>();
  return (key) => {
    const value = known.get(key) ?? compute(key);
    known.set(key, value);
    return value;
  };
}

function parseBoolean(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  return TRUE.includes(text) ? true : FALSE.includes(text) ? false : undefined;
}

function noteOf(notes: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(notes, name) ? notes[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}
