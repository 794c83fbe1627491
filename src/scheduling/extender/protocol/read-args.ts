import { JsonBound, MAX_JSON_BYTES, parseBoundedJson, workOf } from '../../../core/bounded-json';
import { isJsonObject, type JsonObject } from '../../../core/json-object';
import { asArray, asObject, asString, asTexts } from '../../../kube';

/** The request of filter and prioritize: `ExtenderArgs` of k8s.io/kube-scheduler/extender/v1. */
export interface ExtenderArgs {
  readonly pod: JsonObject;
  readonly nodes: RequestedNodes;
}

/** `names`: the scheduler relies on our cache (`nodeCacheCapable: true`). `objects`: it sends whole Nodes. */
export type RequestedNodes =
  | { readonly kind: 'names'; readonly names: readonly string[] }
  | { readonly kind: 'objects'; readonly names: readonly string[]; readonly objects: readonly JsonObject[] };

/** `ExtenderBindingArgs`. */
export interface BindingArgs {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  readonly node: string;
}

/** `ExtenderPreemptionArgs`: the uids of the victims by node, and the number of budgets that they violate. */
export interface PreemptionArgs {
  readonly pod: JsonObject;
  readonly victims: ReadonlyMap<string, Victims>;
}

export interface Victims {
  readonly uids: readonly string[];
  readonly budgetViolations: number;
}

/** A request that is not of the protocol. The message is for the scheduler's operator. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

/** @param maxBytes the longest request that the operator allows. Throws BadRequest. */
export function readExtenderArgs(body: Buffer, maxBytes: number): ExtenderArgs {
  const fields = readFields(body, maxBytes);
  const pod = readPod(fields);
  const objects = asObject(fields.get('nodes'))['items'];
  if (Array.isArray(objects)) {
    const nodes = requireFew(objects).map(asObject);
    return { pod, nodes: { kind: 'objects', names: nodes.map(nameOf), objects: nodes } };
  }
  const names = fields.get('nodenames');
  if (!Array.isArray(names)) throw new BadRequest('the request has neither Nodes nor NodeNames');
  return {
    pod,
    nodes: { kind: 'names', names: requireFew(names).filter((name): name is string => typeof name === 'string') },
  };
}

/** Throws BadRequest. */
export function readBindingArgs(body: Buffer): BindingArgs {
  const fields = readFields(body, MAX_JSON_BYTES);
  const read = (name: string): string => {
    const value = asString(fields.get(name.toLowerCase()));
    if (value === '') throw new BadRequest(`the request has no ${name}`);
    return value;
  };
  const args = {
    podName: read('PodName'),
    podNamespace: read('PodNamespace'),
    podUid: read('PodUID'),
    node: read('Node'),
  };
  // They become parts of paths.
  for (const name of [args.podName, args.podNamespace, args.node])
    if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name))
      throw new BadRequest('the request has a name that Kubernetes does not allow');
  return args;
}

/** @param maxBytes the longest request that the operator allows. Throws BadRequest. */
export function readPreemptionArgs(body: Buffer, maxBytes: number): PreemptionArgs {
  const fields = readFields(body, maxBytes);
  const byNode = Object.entries(asObject(fields.get('nodenametometavictims') ?? fields.get('nodenametovictims')));
  const victims = requireFew(byNode).map(([node, fields]): [string, Victims] => {
    const inner = lowerKeys(asObject(fields));
    const uids = asArray(inner.get('pods')).map(
      (pod) => asString(asObject(asObject(pod)['metadata'])['uid']) || uidOf(pod),
    );
    return [node, { uids, budgetViolations: Number(inner.get('numpdbviolations') ?? 0) || 0 }];
  });
  return { pod: readPod(fields), victims: new Map(victims) };
}

/** The annotations of a Node object. */
export function annotationsOf(node: JsonObject): Readonly<Record<string, string>> {
  return asTexts(asObject(node['metadata'])['annotations']);
}

/** Most nodes of a request: more than a cluster has. Each costs a decision. */
const MAX_NODES = 65_536;

/** Throws BadRequest. */
function requireFew<T>(nodes: readonly T[]): readonly T[] {
  if (nodes.length > MAX_NODES) throw new BadRequest(`the request has more than ${MAX_NODES} nodes`);
  return nodes;
}

function nameOf(node: JsonObject): string {
  return asString(asObject(node['metadata'])['name']);
}

function uidOf(victim: unknown): string {
  return asString(lowerKeys(asObject(victim)).get('uid'));
}

function readPod(fields: ReadonlyMap<string, unknown>): JsonObject {
  const pod = fields.get('pod');
  if (typeof pod !== 'object' || pod === null) throw new BadRequest('the request has no Pod');
  return asObject(pod);
}

/** The outer fields have the names of Go's fields; Go's decoder does not mind upper and lower case. */
function readFields(body: Buffer, maxBytes: number): ReadonlyMap<string, unknown> {
  let parsed: unknown;
  try {
    parsed = parseBoundedJson(body, workOf(body.length, maxBytes));
  } catch (error) {
    if (error instanceof JsonBound) throw new BadRequest(`the request ${error.message}`);
    throw new BadRequest('the request is not JSON');
  }
  if (!isJsonObject(parsed)) throw new BadRequest('the request is no JSON object');
  return lowerKeys(parsed);
}

function lowerKeys(object: JsonObject): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(object).map(([key, value]) => [key.toLowerCase(), value]));
}
