import type { ContainerInfo, PodInfo } from '../model/events';
import { oncePer } from '../once-per';
import type { Topology } from '../topology';
import { quote, type Annotations, type Remark } from './annotations';
import { plural } from '../text';
import { sum } from '../sum';

/** The number of CPUs that the scheduler gave the whole pod on each NUMA node; ascending by node, none without CPUs. */
export type TopologyResult = ReadonlyMap<number, number>;

export const TOPOLOGY_RESULT = 'topology.crane.io/topology-result';

/** A result for 64 NUMA nodes, with all that Crane writes beside the CPUs, has about 10,000 characters. */
export const MAX_RESULT_LENGTH = 16 * 1024;
const MAX_ZONES = 256;
/** A list of zones that have lists of costs and of resources has 5. */
const MAX_DEPTH = 16;

export type ParsedResult =
  | {
      readonly ok: true;
      readonly result: TopologyResult;
      /**
       * The part that crane-scheduler counts as used: it compares names of zones, so only what it would name itself.
       */
      readonly announced: TopologyResult;
    }
  | { readonly ok: false; readonly because: string };

/**
 * Reads the annotation that Crane's scheduler writes: a JSON array of zones, of which those of the type `Node` count,
 * with the node's number after the first four characters of the name and `resources.capacity.cpu` in whole CPUs:
 * `[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"2"}}}]`. Never throws, whatever the text.
 */
export function parseTopologyResult(text: string): ParsedResult {
  const listed = listResultZones(text);
  if (!listed.ok) return listed;
  const counts = new Map<number, number>();
  const announced = new Map<number, number>();
  for (const { type, name, capacity } of listed.zones) {
    if (typeof type !== 'string' || typeof name !== 'string') return bad('it has a zone without name or type');
    if (type !== 'Node') continue;
    const node = /^[^]{4}(\d{1,5})$/.exec(name)?.[1];
    if (node === undefined) return bad(`zone ${quote(name)} has no node number after four characters`);
    const cpus = parseWholeCpus(fieldOf(capacity, 'cpu'));
    if (cpus === undefined) return bad(`zone ${quote(name)} does not name a whole number of CPUs`);
    if (counts.has(Number(node))) return bad(`node ${Number(node)} is named twice`);
    counts.set(Number(node), cpus);
    if (name === nameOfZone(Number(node))) announced.set(Number(node), cpus);
  }
  return { ok: true, result: inOrder(counts), announced: inOrder(announced) };
}

/** A zone of the annotation, whose values nobody has checked. */
export interface ResultZone {
  readonly type: unknown;
  readonly name: unknown;
  /** Amounts of resources by name. */
  readonly capacity: unknown;
}

/** The zones of the annotation, in its order; with bounds for its length, depth and number of zones. Never throws. */
export function listResultZones(
  text: string,
): { readonly ok: true; readonly zones: readonly ResultZone[] } | { readonly ok: false; readonly because: string } {
  if (text.length > MAX_RESULT_LENGTH) return bad(`it is longer than ${MAX_RESULT_LENGTH} characters`);
  if (isDeeperThan(text, MAX_DEPTH)) return bad(`it is nested deeper than ${MAX_DEPTH}`);
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return bad(`${quote(text)} is not JSON`);
  }
  if (!Array.isArray(list)) return bad(`${quote(text)} is not a list of zones`);
  if (list.length > MAX_ZONES) return bad(`it has more than ${MAX_ZONES} zones`);
  const zones = (list as unknown[]).map((zone) => ({
    type: fieldOf(zone, 'type'),
    name: fieldOf(zone, 'name'),
    capacity: fieldOf(fieldOf(zone, 'resources'), 'capacity'),
  }));
  return { ok: true, zones };
}

/** The name that Crane gives to the zone of a NUMA node. */
export function nameOfZone(id: number): string {
  return `node${id}`;
}

function inOrder(counts: ReadonlyMap<number, number>): TopologyResult {
  return new Map([...counts].filter(([, cpus]) => cpus > 0).sort(([a], [b]) => a - b));
}

/** The scheduler's choice in the annotations, if there is any. Read once for all containers of a pod. */
export function resultOf(annotations: Annotations): ParsedResult | undefined {
  return Object.hasOwn(annotations, TOPOLOGY_RESULT) ? parsedOf(annotations) : undefined;
}

const parsedOf = oncePer((annotations: Annotations) => parseTopologyResult(annotations[TOPOLOGY_RESULT] ?? ''));

/** The text that was read, without all that is not read of it, so never longer; `?` for one that can't be read. */
export function formatTopologyResult(parsed: ParsedResult): string {
  if (!parsed.ok) return '?';
  const zones = [...parsed.result].map(([node, cpus]) => {
    return { name: nameOfZone(node), type: 'Node', resources: { capacity: { cpu: cpus } } };
  });
  return JSON.stringify(zones);
}

/**
 * The scheduler's choice for the pod, as far as it can be believed: the annotation is the pod author's to write, so it
 * may neither name more CPUs than the pod asks for, nor too few for the container, nor nodes that the machine does not
 * have.
 */
export function readTopologyResult(
  topology: Topology,
  { annotations }: Pick<PodInfo, 'annotations'>,
  {
    count,
    container,
    podMilliCpu,
  }: {
    readonly count: number;
    readonly container: Pick<ContainerInfo, 'name'>;
    /** The request of the whole pod, in thousandths of a CPU; undefined when it is not known. */
    readonly podMilliCpu: number | undefined;
  },
): { readonly result?: TopologyResult; readonly remarks: readonly Remark[] } {
  const parsed = resultOf(annotations);
  if (parsed === undefined) return { remarks: [] };
  const because = parsed.ok
    ? validateResult(topology, { count, name: container.name, podMilliCpu }, parsed.result)
    : parsed.because;
  return parsed.ok && because === undefined
    ? { result: parsed.result, remarks: [] }
    : { remarks: [{ annotation: TOPOLOGY_RESULT, because: `${because ?? ''}; CPUs are chosen here instead` }] };
}

function validateResult(
  { numaNodes }: Topology,
  {
    count,
    name,
    podMilliCpu,
  }: { readonly count: number; readonly name: string; readonly podMilliCpu: number | undefined },
  result: TopologyResult,
): string | undefined {
  if (result.size === 0) return undefined;
  const total = totalOf(result);
  for (const node of result.keys())
    if (!numaNodes.some(({ id }) => id === node)) return `this machine has no NUMA node ${node}`;
  if (total < count) return `it names ${total} in all, but container ${name} alone asks for ${plural(count, 'CPU')}`;
  if (podMilliCpu === undefined) return undefined;
  const asked = Math.max(count * 1000, podMilliCpu);
  return total * 1000 > asked
    ? `it names ${total} in all, but the pod asks for ${plural(asked / 1000, 'CPU')}`
    : undefined;
}

/** The CPUs that a result gives the pod in all. */
export function totalOf(result: TopologyResult): number {
  return sum([...result.values()]);
}

/** A Kubernetes quantity that is a whole number of CPUs: `2`, `2.0`, `2000m`, or the number 2. */
function parseWholeCpus(quantity: unknown): number | undefined {
  const text = typeof quantity === 'number' ? String(quantity) : quantity;
  if (typeof text !== 'string') return undefined;
  const match = /^(?:(\d{1,5})(?:\.0{1,3})?|(\d{1,5})000m|0m)$/.exec(text);
  return match ? Number(match[1] ?? match[2] ?? 0) : undefined;
}

/** True where brackets are open to a greater depth; those inside of texts count too, since a bound may be rough. */
function isDeeperThan(text: string, depth: number): boolean {
  let open = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '[' || char === '{') open++;
    else if (char === ']' || char === '}') open--;
    if (open > depth) return true;
  }
  return false;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function bad(because: string): { readonly ok: false; readonly because: string } {
  return { ok: false, because };
}
