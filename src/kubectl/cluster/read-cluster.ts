import type { Announcement, PodToPlace } from '../../core/fit';
import {
  asObject,
  asString,
  BOUND_PODS,
  listInPages,
  announcementOf,
  readCommunityTopology,
  readCraneTopology,
  readPod,
  schedulerMilliCpuOf,
  toPodToPlace,
  UNFINISHED_PODS,
  type KubeClient,
  type PodObject,
  type PublishedTopology,
} from '../../kube';
import { CpusetdError } from '../../core/errors';
import { isMissing, withRight, type Right } from '../rights';
import { joinTopologies, readNode, type PublishedNode } from './published-node';

type Client = Pick<KubeClient, 'send'>;

const PAGE_SIZE = 500;

/** The rights of the calls of this file. */
export const RIGHTS = {
  nodes: { verb: 'list', resource: 'nodes' },
  community: { verb: 'list', resource: 'noderesourcetopologies.topology.node.k8s.io' },
  crane: { verb: 'list', resource: 'noderesourcetopologies.topology.crane.io' },
  pods: { verb: 'list', resource: 'pods' },
  budgets: { verb: 'list', resource: 'poddisruptionbudgets.policy' },
} as const satisfies Readonly<Record<string, Right>>;

/**
 * All nodes with what is published of them, by name. `forPods`: to judge pods, for which the kind that the extender
 * reads counts.
 */
export async function readNodes(client: Client, purpose?: 'forPods'): Promise<PublishedNode[]> {
  const [objects, topologies] = await Promise.all([
    readList(client, '/api/v1/nodes', RIGHTS.nodes),
    readTopologies(client, purpose === 'forPods'),
  ]);
  return objects
    .map((object) => readNode(object, topologies.get(asString(asObject(asObject(object)['metadata'])['name']))))
    .sort((a, b) => compareNatural(a.name, b.name));
}

/** The names of the nodes on which cpusetd writes its condition, or did. */
export async function listPublishing(client: Client): Promise<string[]> {
  const objects = await readList(client, '/api/v1/nodes', RIGHTS.nodes);
  return objects
    .map((object) => readNode(object, undefined))
    .filter(({ condition }) => condition !== undefined)
    .map(({ name }) => name);
}

/** All that each node publishes: of the community's kind where there is any, else of Crane's, or of both. */
async function readTopologies(client: Client, both: boolean): Promise<ReadonlyMap<string, PublishedTopology>> {
  const path = (group: string): string => `/apis/${group}/noderesourcetopologies`;
  const community = await readKind(
    client,
    path('topology.node.k8s.io/v1alpha2'),
    RIGHTS.community,
    readCommunityTopology,
  );
  if (community.size > 0 && !both) return community;
  const crane = await readKind(client, path('topology.crane.io/v1alpha1'), RIGHTS.crane, readCraneTopology);
  const topologies = new Map([...community, ...crane]);
  for (const [name, topology] of community) {
    const other = crane.get(name);
    if (other) topologies.set(name, joinTopologies(topology, other));
  }
  return topologies;
}

/** None where the kind is not defined. */
async function readKind(
  client: Client,
  path: string,
  right: Right,
  read: (object: unknown) => PublishedTopology,
): Promise<ReadonlyMap<string, PublishedTopology>> {
  const topologies = new Map<string, PublishedTopology>();
  try {
    await eachOf(client, { path, right }, (object) =>
      topologies.set(asString(asObject(asObject(object)['metadata'])['name']), read(object)),
    );
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return topologies;
}

/** A pod with what the plugin looks at. */
export interface ClusterPod {
  readonly place: PodToPlace;
  /** CPU as kube-scheduler counts it, in thousandths. */
  readonly milliCpu: number;
  readonly object: PodObject;
}

/** The unfinished pods of a node. */
export interface Load {
  /** CPU that they request, as kube-scheduler counts it, in thousandths. */
  milliCpu: number;
  /** Those with a topology-result, by uid. */
  readonly announced: Map<string, Announcement>;
}

/** The load of each node that has pods. */
export async function readLoads(client: Client): Promise<ReadonlyMap<string, Load>> {
  const loads = new Map<string, Load>();
  const query = { fieldSelector: BOUND_PODS };
  const onRestart = (): void => loads.clear();
  await eachOf(client, { path: '/api/v1/pods', right: RIGHTS.pods, query, onRestart }, (object) => {
    const pod = readPod(object);
    if (!pod) return;
    const { node } = pod;
    const load = loads.get(node) ?? { milliCpu: 0, announced: new Map<string, Announcement>() };
    loads.set(node, load);
    load.milliCpu += schedulerMilliCpuOf(pod);
    const announced = announcementOf(pod);
    if (announced) load.announced.set(announced.spec.uid, announced);
  });
  return loads;
}

/** The unfinished pods of a node. */
export async function readPodsOf(client: Client, node: string): Promise<PodObject[]> {
  const query = { fieldSelector: `spec.nodeName=${node},${UNFINISHED_PODS}` };
  const objects = await readList(client, '/api/v1/pods', RIGHTS.pods, query);
  return objects.map(readPod).filter((pod) => pod !== undefined);
}

/** One pod. Throws NOT_FOUND. */
export async function readPodNamed(client: Client, namespace: string, name: string): Promise<PodObject> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const right = { verb: 'get', resource: 'pods', namespace };
  const object = await withRight(right, () => client.send({ method: 'GET', path })).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    throw new CpusetdError('NOT_FOUND', `there is no pod ${namespace}/${name}`, { cause: error });
  });
  const pod = readPod(object);
  if (pod) return pod;
  throw new CpusetdError('INTERNAL', `the API server answered with something that is no pod`);
}

/** @param resources the ones that are looked at in zones */
export function toClusterPod(pod: PodObject, resources: readonly string[]): ClusterPod {
  return { place: toPodToPlace(pod, resources), milliCpu: schedulerMilliCpuOf(pod), object: pod };
}

/** A PodDisruptionBudget. */
export interface Budget {
  readonly namespace: string;
  readonly name: string;
  readonly selector: unknown;
  readonly disruptionsAllowed: number;
}

export async function readBudgets(client: Client): Promise<Budget[]> {
  const objects = await readList(client, '/apis/policy/v1/poddisruptionbudgets', RIGHTS.budgets);
  return objects.map((object) => {
    const { metadata, spec, status } = asObject(object);
    const { namespace, name } = asObject(metadata);
    const { disruptionsAllowed } = asObject(status);
    return {
      namespace: asString(namespace),
      name: asString(name),
      selector: asObject(spec)['selector'],
      disruptionsAllowed: typeof disruptionsAllowed === 'number' ? disruptionsAllowed : 0,
    };
  });
}

async function readList(
  client: Client,
  path: string,
  right: Right,
  query: Readonly<Record<string, string>> = {},
): Promise<unknown[]> {
  const objects: unknown[] = [];
  await eachOf(client, { path, right, query, onRestart: () => (objects.length = 0) }, (object) => objects.push(object));
  return objects;
}

interface ListOf {
  readonly path: string;
  readonly right: Right;
  readonly query?: Readonly<Record<string, string>>;
  readonly onRestart?: () => void;
}

async function eachOf(
  client: Client,
  { path, right, query = {}, onRestart = () => undefined }: ListOf,
  onItem: (object: unknown) => void,
): Promise<void> {
  await withRight(right, () => listInPages({ client, path, query, onItem, onRestart, pageSize: PAGE_SIZE }));
}

/** `node-2` before `node-10`, the same everywhere. */
export function compareNatural(a: string, b: string): number {
  const [as, bs] = [a, b].map((text) => text.split(/(\d+)/));
  for (let i = 0; i < Math.min(as!.length, bs!.length); i++) {
    const [x, y] = [as![i]!, bs![i]!];
    if (x === y) continue;
    if (i % 2 === 1 && Number(x) !== Number(y)) return Number(x) - Number(y);
    return x < y ? -1 : 1;
  }
  return as!.length - bs!.length;
}
