import type { CpuSet } from '../cpuset';
import { oncePer } from '../once-per';
import type { KeptRules } from './assignment';
import type { ChosenPolicy, PolicyName } from './policies';

/** The options of the static policy, by the kubelet's names in camel case. All off by default. */
export interface StaticPolicyOptions {
  readonly fullPcpusOnly: boolean;
  readonly distributeCpusAcrossNuma: boolean;
  readonly alignBySocket: boolean;
  readonly distributeCpusAcrossCores: boolean;
  readonly strictCpuReservation: boolean;
  readonly preferAlignCpusByUncorecache: boolean;
}

export const NO_OPTIONS: StaticPolicyOptions = {
  fullPcpusOnly: false,
  distributeCpusAcrossNuma: false,
  alignBySocket: false,
  distributeCpusAcrossCores: false,
  strictCpuReservation: false,
  preferAlignCpusByUncorecache: false,
};

/** What the operator chose, as far as it decides placements. */
export interface Settings {
  /** For every container whose pod did not choose, or may not. */
  readonly cpuManagerPolicy: PolicyName;
  /** What pods may choose by annotation; absent = nothing. */
  readonly podPolicies?: readonly PolicyName[];
  readonly options: StaticPolicyOptions;
  /** Never allocated exclusively; part of the shared pool unless strict-cpu-reservation. */
  readonly reserved: CpuSet;
  /** The shared pool never gets smaller than this by an allocation. At least 1. */
  readonly minSharedCpus: number;
  readonly onInsufficientCpu: 'refuse' | 'share';
  /** Lift the container's own CFS quota when it gets exclusive CPUs. */
  readonly liftCpuQuota: boolean;
  /** How CPUs and memory are aligned to NUMA nodes; absent = not at all (topology-manager-policy none). */
  readonly topologyManager?: TopologyManagerSettings;
  /** Whether memory nodes follow exclusive CPUs; absent = off. */
  readonly memoryNodes?: 'follow' | 'off';
}

/** Some container can be given CPUs here: by the node's policy, or by one that its pod chooses. */
export function canPin({
  cpuManagerPolicy,
  podPolicies = [],
}: Pick<Settings, 'cpuManagerPolicy' | 'podPolicies'>): boolean {
  return [cpuManagerPolicy, ...podPolicies].some((policy) => policy !== 'none');
}

/** How strictly a placement must be as narrow as can be; see the kubelet's topology manager. */
export type TopologyManagerPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

/** The options of the topology manager, by the kubelet's names in camel case. */
export interface TopologyManagerOptions {
  /** Among as many NUMA nodes prefer those with the smaller distance. */
  readonly preferClosestNumaNodes: boolean;
  /** A machine with more NUMA nodes is not aligned. */
  readonly maxAllowableNumaNodes: number;
}

export interface TopologyManagerSettings {
  readonly policy: TopologyManagerPolicy;
  /** Whether each container is aligned by itself, or all of a pod to the same nodes. */
  readonly scope: 'container' | 'pod';
  readonly options: TopologyManagerOptions;
}

const OPTION_NAMES: readonly (readonly [keyof StaticPolicyOptions, string])[] = [
  ['alignBySocket', 'align-by-socket'],
  ['distributeCpusAcrossCores', 'distribute-cpus-across-cores'],
  ['distributeCpusAcrossNuma', 'distribute-cpus-across-numa'],
  ['fullPcpusOnly', 'full-pcpus-only'],
  ['preferAlignCpusByUncorecache', 'prefer-align-cpus-by-uncorecache'],
  ['strictCpuReservation', 'strict-cpu-reservation'],
];

/** The kubelet's names of the options that are on, sorted. */
export const optionNames: (options: StaticPolicyOptions) => readonly string[] = oncePer(
  (options: StaticPolicyOptions) => OPTION_NAMES.filter(([key]) => options[key]).map(([, name]) => name),
);

/** The rules as they are written beside a decision. */
export function rulesOf(
  settings: Settings,
  { policy, chosenBy }: ChosenPolicy = { policy: settings.cpuManagerPolicy },
): KeptRules {
  const rules = { options: optionNames(settings.options), reserved: settings.reserved };
  return chosenBy === undefined ? { policy, ...rules } : { policy, chosenBy, ...rules };
}
