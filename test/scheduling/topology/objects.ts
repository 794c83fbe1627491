import { useOf, type Amounts, type NodeOffer, type PodToPlace, type ZoneAmounts } from '../../../src/core/fit';
import { announcementOf, readCraneOffer, readPod, readPodToPlace } from '../../../src/kube';

// Objects of the API server for tests, by the few fields that decide.

export const RESULT = 'topology.crane.io/topology-result';
export const AWARENESS = 'topology.crane.io/topology-awareness';
export const CPU_POLICY = 'topology.crane.io/cpu-policy';

export type Quantities = Readonly<Record<string, string>>;

export interface TopologyShape {
  readonly name?: string;
  readonly version?: string;
  /** Allocatable of each zone, `node0` first; a text = CPUs. */
  readonly zones: readonly (string | Quantities)[];
  readonly isStatic?: boolean;
  readonly isAware?: boolean;
  /** The rules that cpusetd publishes; absent = it does not run there. */
  readonly rules?: Readonly<Record<string, unknown>>;
  readonly annotations?: Quantities;
}

/** A NodeResourceTopology of Crane. */
export function topologyObject({ name = 'n', zones, isStatic = true, isAware = true, ...more }: TopologyShape) {
  const { version = '1', rules, annotations } = more;
  return {
    apiVersion: 'topology.crane.io/v1alpha1',
    kind: 'NodeResourceTopology',
    metadata: { name, resourceVersion: version, ...(annotations && { annotations }) },
    craneManagerPolicy: {
      cpuManagerPolicy: isStatic ? 'Static' : 'None',
      topologyManagerPolicy: isAware ? 'SingleNUMANodePodLevel' : 'None',
    },
    attributes: rules ? { 'cpusetd.io/rules': JSON.stringify({ v: 1, ...rules }) } : {},
    zones: zones.map((zone, id) => {
      const allocatable = typeof zone === 'string' ? { cpu: zone } : zone;
      return { name: `node${id}`, type: 'Node', resources: { capacity: { cpu: '8' }, allocatable } };
    }),
  };
}

export const offerOf = (shape: TopologyShape): NodeOffer => readCraneOffer(topologyObject(shape));

export interface ContainerShape {
  readonly requests: Quantities;
  /** The requests by default. */
  readonly limits?: Quantities;
  readonly restartPolicy?: string;
}

export interface PodShape {
  readonly uid?: string;
  readonly name?: string;
  readonly annotations?: Quantities;
  readonly owner?: string;
  readonly init?: readonly ContainerShape[];
  readonly node?: string;
  readonly phase?: string;
}

const toContainer = ({ requests, limits = requests, restartPolicy }: ContainerShape, name: string) => ({
  name,
  resources: { requests, limits },
  ...(restartPolicy !== undefined && { restartPolicy }),
});

/** A container whose CPU and memory requests are its limits. */
export const guaranteed = (cpu: string): ContainerShape => ({ requests: { cpu, memory: '1Gi' } });
export const sidecar = (cpu: string): ContainerShape => ({ ...guaranteed(cpu), restartPolicy: 'Always' });

/** A Pod. Its app containers are given by their CPUs, or whole. */
export function podObject(containers: readonly (string | ContainerShape)[], shape: PodShape = {}) {
  const { uid = 'u', name = 'p', annotations = {}, owner, init = [], node, phase = 'Pending' } = shape;
  return {
    metadata: {
      uid,
      namespace: 'default',
      name,
      annotations,
      ...(owner !== undefined && { ownerReferences: [{ kind: owner, name: 'o' }] }),
    },
    spec: {
      initContainers: init.map((each, i) => toContainer(each, `i${i}`)),
      containers: containers.map((container, i) =>
        toContainer(typeof container === 'string' ? guaranteed(container) : container, `c${i}`),
      ),
      ...(node !== undefined && { nodeName: node }),
    },
    status: { phase },
  };
}

export function podOf(containers: readonly (string | ContainerShape)[], shape: PodShape = {}): PodToPlace {
  return readPodToPlace(podObject(containers, shape))!;
}

/** The amounts that a bound pod takes on a node without cpusetd; undefined when its result names none. */
export function usedBy(object: unknown): ZoneAmounts | undefined {
  const pod = readPod(object);
  const announced = pod && announcementOf(pod);
  const use = announced && useOf(announced, undefined);
  return use && use.size > 0 ? use : undefined;
}

/** A topology-result: the CPUs of each zone by its name. */
export function resultText(cpus: Readonly<Record<string, string | number>>): string {
  const zones = Object.entries(cpus).map(([name, cpu]) => {
    return { name, type: 'Node', resources: { capacity: { cpu: String(cpu) } } };
  });
  return JSON.stringify(zones);
}

/** CPUs by zone, `node0` first. */
export function cpusOf(...cpus: readonly number[]): ZoneAmounts {
  return new Map(cpus.map((cpu, id) => [`node${id}`, new Map([['cpu', cpu * 1_000]])]));
}

/** Plain objects, for comparisons. */
export function plain(zones: ZoneAmounts): Record<string, Record<string, number>> {
  const objectOf = (amounts: Amounts): Record<string, number> => Object.fromEntries(amounts);
  return Object.fromEntries([...zones].map(([zone, amounts]) => [zone, objectOf(amounts)]));
}
