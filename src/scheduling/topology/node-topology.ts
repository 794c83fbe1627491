import type { NodeOffer } from '../../core/fit';
import { asObject, readClaims, readCraneOffer, resourceVersionOf, type Claim } from '../../kube';

/** The NodeResourceTopology of one node (`topology.crane.io/v1alpha1`), as far as it decides. */
export interface NodeTopology {
  readonly name: string;
  readonly resourceVersion: string;
  readonly offer: NodeOffer;
  /** Pods that extenders are binding to the node, by uid. */
  readonly claims: ReadonlyMap<string, Claim>;
}

/** Reads an object of the API server; undefined for one without a name. Fields of another type count as missing. */
export function readNodeTopology(object: unknown): NodeTopology | undefined {
  const { name, annotations } = asObject(asObject(object)['metadata']);
  if (typeof name !== 'string' || name === '') return undefined;
  const claims = readClaims(asObject(annotations));
  return { name, resourceVersion: resourceVersionOf(object), offer: readCraneOffer(object), claims };
}
