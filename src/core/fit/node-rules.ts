import { CpuSet } from '../cpuset';
import { socketsOf, type SocketsOfNodes } from '../hints/providers';
import { DEFAULT_KIND, type PolicyName } from '../model/policies';
import { NO_OPTIONS, type LeaveAloneRule, type Settings, type TopologyManagerPolicy } from '../model/settings';
import { oncePer } from '../once-per';
import { threadsPerCore, type Topology } from '../topology';

/**
 * The rules by which a node gives CPUs to the containers of a pod, as far as they decide whether it fits. A node
 * publishes them.
 */
export interface NodeRules {
  /** For every container whose pod did not choose, or may not. */
  readonly policy: PolicyName;
  /** The policies that pods may choose. */
  readonly podPolicies: readonly PolicyName[];
  /** CPUs of the whole cores that are given (`full-pcpus-only`); 1 = any number of CPUs. */
  readonly cpusPerCore: number;
  /**
   * The policy that applies to CPUs that leave the shared pool: where a container that breaks it shares, it only
   * prefers.
   */
  readonly topologyPolicy: TopologyManagerPolicy;
  readonly topologyScope: 'container' | 'pod';
  /** Present with `align-by-socket`; nodes by their index among the zones with CPUs. */
  readonly sockets?: SocketsOfNodes;
  /** A container without CPUs shares, and is not refused. */
  readonly shares: boolean;
  readonly leaveAlone: readonly LeaveAloneRule[];
  readonly podLeaveAlone: boolean;
}

/** The rules of a node whose options are all at their defaults. */
export const PLAIN_RULES: NodeRules = {
  policy: DEFAULT_KIND,
  podPolicies: [],
  cpusPerCore: 1,
  topologyPolicy: 'none',
  topologyScope: 'container',
  shares: false,
  leaveAlone: [],
  podLeaveAlone: false,
};

/** The rules of a node with these settings. */
export function rulesOfNode(settings: Settings, topology: Topology): NodeRules {
  const { policy, scope } = settings.topologyManager ?? { policy: 'none', scope: 'container' };
  const shares = settings.onInsufficientCpu === 'share';
  const { sockets } = settings.options.alignBySocket ? socketsOf(topology) : {};
  return {
    policy: settings.cpuManagerPolicy,
    podPolicies: settings.podPolicies ?? [],
    cpusPerCore: settings.options.fullPcpusOnly ? threadsPerCore(topology) : 1,
    topologyPolicy: shares && isStrict(policy) ? 'best-effort' : policy,
    topologyScope: scope,
    ...(sockets && { sockets }),
    shares,
    leaveAlone: settings.leaveAlone ?? [],
    podLeaveAlone: settings.podLeaveAlone ?? false,
  };
}

/** True for rules that the names of a pod decide by. */
export function looksAtNames(rules: NodeRules | 'unreadable' | undefined): boolean {
  return rules !== undefined && rules !== 'unreadable' && rules.leaveAlone.length > 0;
}

/** True for a policy that refuses a container in more NUMA nodes than it needs. */
export function isStrict(policy: TopologyManagerPolicy): policy is 'restricted' | 'single-numa-node' {
  return policy === 'restricted' || policy === 'single-numa-node';
}

/** The settings by which containers are entitled to CPUs under these rules. */
export const settingsOfRules: (rules: NodeRules) => Settings = oncePer((rules: NodeRules): Settings => ({
  cpuManagerPolicy: rules.policy,
  podPolicies: rules.podPolicies,
  leaveAlone: rules.leaveAlone,
  podLeaveAlone: rules.podLeaveAlone,
  options: NO_OPTIONS,
  reserved: CpuSet.empty,
  minSharedCpus: 1,
  onInsufficientCpu: rules.shares ? 'share' : 'refuse',
  liftCpuQuota: true,
}));
