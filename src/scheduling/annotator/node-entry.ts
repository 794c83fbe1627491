import { asArray, asObject, asString } from '../../kube';
import type { NodeAddress } from './prometheus/find-figure';

/** The part of a Node that is kept. */
export interface NodeEntry extends NodeAddress {
  readonly uid: string;
}

/** Reads a Node. Its address is the first of type InternalIP, else its name. */
export function toNodeEntry(object: unknown): NodeEntry | undefined {
  const { metadata, status } = asObject(object);
  const { name, uid } = asObject(metadata);
  if (typeof name !== 'string' || name === '') return undefined;
  const addresses = asArray(asObject(status)['addresses']).map(asObject);
  const internal = asString(addresses.find(({ type }) => type === 'InternalIP')?.['address']);
  return { name, uid: asString(uid), address: internal === '' ? name : internal };
}

/** True when the annotations of the one, and its series, are those of the other. */
export function isSameNode(a: NodeEntry, b: NodeEntry): boolean {
  return a.uid === b.uid && a.address === b.address;
}
