import type { Zone } from '../../core/node-resources/node-resources';
import { asObject } from '../json';
import { reservedByCrane } from '../kubelet/reserved-memory';
import { CORE_KINDS_ATTRIBUTE, formatCoreKinds } from './core-kinds';
import { formatRoom, formatRules, ROOM_ATTRIBUTE, RULES_ATTRIBUTE } from './fit-attributes';
import { formatSummary, SUMMARY_ATTRIBUTE } from './node-summary';
import type { Fields, Report, TopologyKind } from './topology-resource';
import type { NodeIdentity } from '../objects/owner-reference';

const AWARENESS = 'topology.crane.io/topology-awareness';
const RESERVED = 'go.crane.io/reserved-system-cpus';

/** Attributes of an earlier version, which are removed. */
const FORMER_ATTRIBUTES = ['cpu-manager-policy', 'cpus-per-core', 'topology-manager-policy'].map(
  (name) => `cpusetd.io/${name}`,
);
const OWN = [RESERVED, SUMMARY_ATTRIBUTE, CORE_KINDS_ATTRIBUTE, RULES_ATTRIBUTE, ROOM_ATTRIBUTE, ...FORMER_ATTRIBUTES];

/**
 * Crane's NodeResourceTopology, as crane-scheduler reads it: zones `node<id>`, without the resources in use. The
 * scheduler sums those up from its own annotations on pods. Resources that pods hold without such an annotation are
 * subtracted from `allocatable` here; Crane's own agent does not, and they are given out twice.
 */
export const craneTopology: TopologyKind = {
  name: 'crane',
  apiVersion: 'topology.crane.io/v1alpha1',
  path: '/apis/topology.crane.io/v1alpha1/noderesourcetopologies',
  build: buildFields,
  withForeign: ({ attributes }, fields) => {
    const foreign = Object.entries(asObject(attributes)).filter(([name]) => !OWN.includes(name));
    return { ...fields, attributes: { ...Object.fromEntries(foreign), ...asObject(fields['attributes']) } };
  },
  superseded: [],
};

function buildFields({ node, resources, kubeletIsStatic, kubelet, summary }: Report): Fields {
  const { zones, reserved, coreKinds } = resources;
  const memory = new Map(zones.map(({ id, memoryBytes }) => [id, memoryBytes]));
  const reservedMemory = kubelet ? reservedByCrane(kubelet, memory) : new Map<number, number>();
  const besideCpu = Object.entries(kubelet?.reserved ?? {}).map(([name, amount]) => [name, String(amount)]);
  return {
    craneManagerPolicy: {
      cpuManagerPolicy: resources.pins && !kubeletIsStatic ? 'Static' : 'None',
      topologyManagerPolicy: isAware(node) ? 'SingleNUMANodePodLevel' : 'None',
    },
    reserved: { cpu: String(reserved.size), ...Object.fromEntries(besideCpu) },
    attributes: {
      [RESERVED]: reserved.toString(),
      [RULES_ATTRIBUTE]: formatRules(resources.rules),
      [ROOM_ATTRIBUTE]: formatRoom(resources, 'withResults'),
      ...(coreKinds.length > 0 && { [CORE_KINDS_ATTRIBUTE]: formatCoreKinds(coreKinds) }),
      ...(summary && { [SUMMARY_ATTRIBUTE]: formatSummary(summary) }),
    },
    zones: zones.map((zone) => buildZone(zone, zones, reservedMemory.get(zone.id) ?? 0)),
  };
}

function buildZone(
  { id, cpu, memoryBytes, reservedCpus, unannounced, withheld, distances }: Zone,
  zones: readonly Zone[],
  reservedBytes: number,
) {
  const costs = zones.flatMap((other) => {
    const value = distances.get(other.id);
    return value === undefined ? [] : [{ name: nameOf(other), value }];
  });
  const memory = (bytes: number) => memoryBytes > 0 && { memory: String(bytes) };
  return {
    name: nameOf({ id }),
    type: 'Node',
    ...(costs.length > 0 && { costs }),
    resources: {
      capacity: { cpu: String(cpu.capacity), ...memory(memoryBytes) },
      // Never left out: the scheduler reads an empty list as no CPUs at all.
      allocatable: {
        cpu: String(Math.max(0, cpu.allocatable - unannounced - withheld)),
        ...memory(memoryBytes - reservedBytes),
      },
      reservedCPUNums: reservedCpus,
    },
  };
}

function nameOf({ id }: Pick<Zone, 'id'>): string {
  return `node${id}`;
}

/** Awareness is the default; only a false value of the label, in a spelling of Go's ParseBool, turns it off. */
function isAware({ labels }: NodeIdentity): boolean {
  return !['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(labels[AWARENESS] ?? '');
}
