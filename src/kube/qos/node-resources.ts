import { MERGE_PATCH, type KubeClient } from '../api/kube-client';
import type { Right } from '../api/missing-rights';
import { asArray, asObject, asString, asTexts, type JsonObject } from '../json';
import { parseMilli, parseWhole } from '../quantity';
import { hasInterferenceTaint } from './node-taint';

// What is lent stands in the Node's status as the extended resources `gocrane.io/cpu` and `gocrane.io/memory`, in `capacity` and in
// `allocatable`. The rules of Kubernetes for them, as read in the sources of 1.36 (2026-11):
//
// - Extended resources are whole numbers: the API server refuses 1500m (ValidateResourceQuantityValue). So CPUs are rounded down.
// - The kubelet keeps a resource of `capacity` that it does not know. In each of its updates it sets `allocatable` to `capacity`, and removes an
//   extended resource from `allocatable` that is not in `capacity` (MachineInfo in nodestatus/setters.go). So both are written alike.
// - A kubelet that starts, and finds no checkpoint of its device manager, sets all extended resources of its Node to 0
//   (reconcileExtendedResource). The checkpoint is there only after a device plugin has registered, so on nodes without such plugins every
//   start of the kubelet does it. Whoever writes has to look, and to write again.
// - A kubelet that starts admits its running pods anew. It counts a resource that the Node has, also with 0, and not one that is missing
//   (removeMissingExtendedResources). So a Node that has less than its pods request loses them then (OutOfgocrane.io/cpu).

/** What is lent to pods that request `gocrane.io/cpu` and `gocrane.io/memory`. */
export interface ElasticResources {
  readonly milliCpu: number;
  readonly memoryBytes: number;
}

/** The Node, as far as what is lent depends on it. */
export interface NodeState {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The texts of its addresses: IPs, host names. */
  readonly addresses: readonly string[];
  readonly allocatable: Partial<ElasticResources>;
  /** What is lent now; absent = it is not in the status, or not in both places alike. */
  readonly lent: Partial<ElasticResources>;
  /** It has the taint `interference.crane.io:PreferNoSchedule`. */
  readonly isTainted: boolean;
}

/** The right that `writeElasticResources` needs. */
export const LEND_RESOURCES: Right = {
  verb: 'patch',
  resource: 'nodes/status',
  lost: 'nothing is lent to pods with gocrane.io/cpu and gocrane.io/memory',
  file: 'deploy/components/qos/rbac.yaml',
};

const CPU = 'gocrane.io/cpu';
const MEMORY = 'gocrane.io/memory';

/** Reads a Node as the API server sends it; what is missing or no quantity counts as absent. */
export function toNodeState(object: unknown): NodeState {
  const { metadata, status } = asObject(object);
  const { name, uid, labels, annotations } = asObject(metadata);
  const { addresses, capacity, allocatable } = asObject(status);
  return {
    name: asString(name),
    uid: asString(uid),
    labels: asTexts(labels),
    annotations: asTexts(annotations),
    addresses: asArray(addresses).flatMap((each) => asString(asObject(each)['address']) || []),
    allocatable: readAmounts(asObject(allocatable), 'cpu', 'memory'),
    lent: inCommon(readAmounts(asObject(capacity), CPU, MEMORY), readAmounts(asObject(allocatable), CPU, MEMORY)),
    isTainted: hasInterferenceTaint(object),
  };
}

function readAmounts(resources: JsonObject, cpu: string, memory: string): Partial<ElasticResources> {
  const milliCpu = parseMilli(resources[cpu]);
  const memoryBytes = parseWhole(resources[memory]);
  return { ...(milliCpu !== undefined && { milliCpu }), ...(memoryBytes !== undefined && { memoryBytes }) };
}

function inCommon(one: Partial<ElasticResources>, other: Partial<ElasticResources>): Partial<ElasticResources> {
  return {
    ...(one.milliCpu !== undefined && one.milliCpu === other.milliCpu && { milliCpu: one.milliCpu }),
    ...(one.memoryBytes !== undefined && one.memoryBytes === other.memoryBytes && { memoryBytes: one.memoryBytes }),
  };
}

/**
 * Writes what is lent into the Node's status. CPUs are rounded down to whole ones, memory to bytes. An amount that is absent is removed; `{}`
 * removes both. The caller writes only what differs from `NodeState.lent`. Throws KubeError.
 */
export async function writeElasticResources(
  client: Pick<KubeClient, 'send'>,
  nodeName: string,
  wanted: Partial<ElasticResources>,
): Promise<void> {
  const { milliCpu, memoryBytes } = wanted;
  const resources = {
    [CPU]: milliCpu === undefined ? null : String(Math.floor(milliCpu / 1000)),
    [MEMORY]: memoryBytes === undefined ? null : String(Math.floor(memoryBytes)),
  };
  await client.send({
    method: 'PATCH',
    path: `/api/v1/nodes/${nodeName}/status`,
    contentType: MERGE_PATCH,
    body: { status: { capacity: resources, allocatable: resources } },
  });
}
