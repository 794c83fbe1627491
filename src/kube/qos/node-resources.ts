import { MERGE_PATCH, type KubeClient } from '../api/kube-client';
import type { Right } from '../api/missing-rights';
import { asArray, asObject, asString, asTexts, type JsonObject } from '../json';
import { parseMilli, parseWhole } from '../quantity';
import { hasInterferenceTaint } from './node-taint';

// Lent resources are in the Node's status as the extended resources `gocrane.io/cpu` and `gocrane.io/memory`, in
// `capacity` and in `allocatable`. The rules of Kubernetes 1.36 for them (2026-11); test/cluster/lent-resources.test.ts
// shows them on a real kubelet:
//
// - Extended resources are whole numbers: the API server refuses 1500m. So CPUs are rounded down.
// - The kubelet keeps a resource that it does not know. It makes `allocatable` equal to `capacity`, and removes from
//   `allocatable` what is not in
//   `capacity`. So both are written alike.
// - A Node that registers anew has none, and a kubelet that finds no file in its folder `device-plugins` when it
//   registers sets all to 0
//   (reconcileExtendedResource). So whoever writes has to look, and to write again.
// - A kubelet that starts admits its running pods anew. It ends a pod that requests more of a resource than the Node
//   has
// (OutOfgocrane.io/cpu), also where that is 0, and ignores a resource that the Node has not. So less than running pods
// request must never
//   be lent, and to stop lending is to remove the resource, not to write 0.

/** Amounts that are lent to pods that request `gocrane.io/cpu` and `gocrane.io/memory`. */
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
  /** The amounts that are lent now; absent = it is not in the status, or not in both places alike. */
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

function inCommon(a: Partial<ElasticResources>, b: Partial<ElasticResources>): Partial<ElasticResources> {
  return {
    ...(a.milliCpu !== undefined && a.milliCpu === b.milliCpu && { milliCpu: a.milliCpu }),
    ...(a.memoryBytes !== undefined && a.memoryBytes === b.memoryBytes && { memoryBytes: a.memoryBytes }),
  };
}

/**
 * Writes what is lent into the Node's status. CPUs are rounded down to whole ones, memory to bytes. An amount that is
 * absent is removed; `{}` removes both. The caller writes only what differs from `NodeState.lent`. Throws KubeError.
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
