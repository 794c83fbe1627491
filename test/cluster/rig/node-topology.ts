import { kubectl } from './kube-api';

/** The version of each kind of NodeResourceTopology, by API group: that of the community and that of Crane. */
export const topologyVersions = { 'topology.node.k8s.io': 'v1alpha2', 'topology.crane.io': 'v1alpha1' } as const;
export type TopologyGroup = keyof typeof topologyVersions;
export const topologyGroups = Object.keys(topologyVersions) as TopologyGroup[];

/** The path of all objects of one kind. */
export const topologiesOf = (group: TopologyGroup): string =>
  `/apis/${group}/${topologyVersions[group]}/noderesourcetopologies`;

/** The fields of the community's kind that the tests read; Crane's has the same metadata. */
export interface NodeTopology {
  readonly metadata: {
    readonly uid: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[];
  };
  readonly zones: readonly {
    readonly name: string;
    readonly resources: readonly { readonly name: string; readonly available: string }[];
  }[];
}

/** Deletes the objects of both kinds of these nodes, also where there are none. */
export async function deleteTopologies(...nodes: readonly string[]): Promise<void> {
  const kinds = topologyGroups.map((group) => `noderesourcetopologies.${group}`).join();
  await kubectl('delete', kinds, ...nodes, '--ignore-not-found');
}
