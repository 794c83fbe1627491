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

/** The operator's choices, as far as they decide placements. */
export interface Settings {
  /** For every container whose pod did not choose, or may not. */
  readonly cpuManagerPolicy: PolicyName;
  /** The policies that pods may choose by annotation; absent = none. */
  readonly podPolicies?: readonly PolicyName[];
  readonly options: StaticPolicyOptions;
  /** Never allocated exclusively; part of the shared pool unless strict-cpu-reservation. */
  readonly reserved: CpuSet;
  /** The shared pool never gets smaller than this by an allocation. At least 1. */
  readonly minSharedCpus: number;
  readonly onInsufficientCpu: 'refuse' | 'share';
  /** Lift the container's own CFS quota when it gets exclusive CPUs. */
  readonly liftCpuQuota: boolean;
  /** The alignment of CPUs and memory to NUMA nodes; absent = none (topology-manager-policy none). */
  readonly topologyManager?: TopologyManagerSettings;
  /** `follow`: memory nodes follow exclusive CPUs; absent = off. */
  readonly memoryNodes?: 'follow' | 'off';
  /** Memory nodes without CPUs that a container may be given beside its own, by id; absent = none. */
  readonly memoryNodesWithoutCpus?: CpuSet | 'all';
  /** Containers that cpusetd does not touch; absent = none. */
  readonly leaveAlone?: readonly LeaveAloneRule[];
  /** Pods may ask by annotation to be left alone; absent = they may not. */
  readonly podLeaveAlone?: boolean;
  /** The CPUs that a container which is left alone starts with; absent = the shared pool. */
  readonly leftAloneStart?: 'shared-pool' | 'untouched';
  /** Containers whose pod asks for it get a file with their CPUs; absent = none does. */
  readonly cpuIdentity?: boolean;
}

/** A rule of the operator: names, in which `*` stands for any text. */
export interface LeaveAloneRule {
  /** As the operator wrote it: `NAMESPACE[/POD[/CONTAINER]]`. */
  readonly text: string;
  readonly namespace: string;
  readonly pod?: string;
  readonly container?: string;
}

/** Some container can be given CPUs here: by the node's policy, or by one that its pod chooses. */
export function canPin({
  cpuManagerPolicy,
  podPolicies = [],
}: Pick<Settings, 'cpuManagerPolicy' | 'podPolicies'>): boolean {
  return [cpuManagerPolicy, ...podPolicies].some((policy) => policy !== 'none');
}

/** The kubelet's policies for placements on more NUMA nodes than needed: ignore, prefer, or refuse them. */
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
  /** `container`: each container is aligned by itself; `pod`: all of a pod to the same nodes. */
  readonly scope: 'container' | 'pod';
  readonly options: TopologyManagerOptions;
}

/** The options by the kubelet's names, sorted. */
export const OPTIONS_BY_NAME: ReadonlyMap<string, keyof StaticPolicyOptions> = new Map([
  ['align-by-socket', 'alignBySocket'],
  ['distribute-cpus-across-cores', 'distributeCpusAcrossCores'],
  ['distribute-cpus-across-numa', 'distributeCpusAcrossNuma'],
  ['full-pcpus-only', 'fullPcpusOnly'],
  ['prefer-align-cpus-by-uncorecache', 'preferAlignCpusByUncorecache'],
  ['strict-cpu-reservation', 'strictCpuReservation'],
]);

/** The kubelet's names of the options that are on, sorted. */
export const optionNames: (options: StaticPolicyOptions) => readonly string[] = oncePer(
  (options: StaticPolicyOptions) => [...OPTIONS_BY_NAME].filter(([, key]) => options[key]).map(([name]) => name),
);

/** The rules as they are written beside a decision. */
export function rulesOf(
  settings: Settings,
  { policy, chosenBy }: ChosenPolicy = { policy: settings.cpuManagerPolicy },
): KeptRules {
  const rules = { options: optionNames(settings.options), reserved: settings.reserved };
  return chosenBy === undefined ? { policy, ...rules } : { policy, chosenBy, ...rules };
}
