import { asArray, asObject, asString, parseMilli, type JsonObject } from '../../kube';
import { CPU, NO_AMOUNTS, readAmounts, type Amounts, type ZoneAmounts } from './amounts';
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
  /** The CPUs of each of these containers. */
  readonly cpuCounts: readonly number[];
  /** All CPUs in one zone, or anywhere; undefined = as the node has it. */
  readonly awareness: boolean | undefined;
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
  const awareness = noteOf(notes, AWARENESS);
  return {
    uid: asString(uid),
    namespace: asString(namespace),
    name: asString(name),
    isOfDaemonSet: asArray(ownerReferences).some((owner) => asObject(owner)['kind'] === 'DaemonSet'),
    request: targets.length === 0 ? NO_AMOUNTS : sumRequests(targets, resources),
    cpuCounts: targets.map(({ requests }) => requests.get(CPU)! / 1_000),
    awareness:
      awareness === undefined
        ? undefined
        : TRUE.includes(awareness)
          ? true
          : FALSE.includes(awareness)
            ? false
            : undefined,
  };
}

/**
 * The resources that a pod takes of zones, as its topology-result says; undefined when it takes none.
 *
 * Its author can write that annotation. So in each zone at most as many CPUs count as the pod requests in all. They are not bounded in sum:
 * cpusetd subtracts `max(0, held - announced)` from each zone that it publishes, so less than min(announced, held) would be too little.
 */
export function readPodUse(pod: unknown): ZoneAmounts | undefined {
  const { metadata, spec } = asObject(pod);
  const text = noteOf(asObject(asObject(metadata)['annotations']), TOPOLOGY_RESULT);
  if (text === undefined) return undefined;
  const most = requestedCpu(asObject(spec));
  if (most === 0) return undefined;
  const zones = [...readTopologyResult(text)].map(([zone, amounts]) => {
    const cpu = Math.min(amounts.get(CPU) ?? 0, most);
    return [zone, new Map([...amounts, [CPU, cpu]])] as const;
  });
  return zones.length === 0 ? undefined : new Map(zones);
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

/** The CPUs that the pod may hold at most, in thousandths: its app containers' and sidecars', or those of its largest init container. */
function requestedCpu(spec: JsonObject): number {
  const cpuOf = (container: unknown): number =>
    parseMilli(asObject(asObject(asObject(container)['resources'])['requests'])[CPU]) ?? 0;
  const sum = (containers: readonly unknown[]): number => containers.reduce<number>((all, of) => all + cpuOf(of), 0);
  const init = asArray(spec['initContainers']);
  const isSidecar = (container: unknown): boolean => asObject(container)['restartPolicy'] === 'Always';
  const sidecars = sum(init.filter(isSidecar));
  const largest = Math.max(0, ...init.filter((container) => !isSidecar(container)).map(cpuOf));
  const ofPod = parseMilli(asObject(asObject(spec['resources'])['requests'])[CPU]) ?? 0;
  return Math.max(sidecars + sum(asArray(spec['containers'])), sidecars + largest, ofPod);
}

function noteOf(notes: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(notes, name) ? notes[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}
