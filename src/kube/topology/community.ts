import type { Amounts, NodeResources, Zone } from '../../core/node-resources';
import type { Fields, Report, TopologyKind } from './topology-kind';

/**
 * The community's NodeResourceTopology, as scheduler-plugins' NodeResourceTopologyMatch reads it: zones `node-<id>` of the
 * type `Node`, for each resource what the hardware has, what is not reserved, and what is left; policy and scope in the
 * kubelet's words as attributes.
 */
export const communityTopology: TopologyKind = {
  name: 'community',
  apiVersion: 'topology.node.k8s.io/v1alpha2',
  path: '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies',
  build: buildFields,
};

function buildFields({ resources, fingerprint }: Report): Fields {
  return {
    // Superseded by the attributes, but the definition still demands it.
    topologyPolicies: [superseded(resources)],
    attributes: [
      { name: 'topologyManagerPolicy', value: resources.topologyPolicy },
      { name: 'topologyManagerScope', value: resources.topologyScope },
      ...(fingerprint === undefined
        ? []
        : [
            { name: 'nodeTopologyPodsFingerprint', value: fingerprint },
            { name: 'nodeTopologyPodsFingerprintMethod', value: 'all' },
          ]),
    ],
    zones: resources.zones.map((zone) => buildZone(zone, resources.zones)),
  };
}

/** Distances to nodes without CPUs are left out: costs name other zones. */
function buildZone({ id, cpu, memory, distances }: Zone, zones: readonly Zone[]) {
  const costs = zones.flatMap((other) => {
    const value = distances.get(other.id);
    return value === undefined ? [] : [{ name: nameOf(other), value }];
  });
  return {
    name: nameOf({ id }),
    type: 'Node',
    ...(costs.length > 0 && { costs }),
    resources: [toResource('cpu', cpu), ...(memory ? [toResource('memory', memory)] : [])],
  };
}

function nameOf({ id }: Pick<Zone, 'id'>): string {
  return `node-${id}`;
}

function toResource(name: string, { capacity, allocatable, available }: Amounts) {
  return { name, capacity: String(capacity), allocatable: String(allocatable), available: String(available) };
}

function superseded({ topologyPolicy, topologyScope }: NodeResources): string {
  const level = topologyScope === 'pod' ? 'PodLevel' : 'ContainerLevel';
  switch (topologyPolicy) {
    case 'single-numa-node':
      return `SingleNUMANode${level}`;
    case 'restricted':
      return `Restricted${level}`;
    case 'best-effort':
      return `BestEffort${level}`;
    case 'none':
      return 'None';
  }
}
