/**
 * The claim of an assignment on CPUs:
 * `exclusive` its CPUs leave the shared pool, and no other container runs there;
 * `non-exclusive` its CPUs stay in the shared pool, but no other assignment gets them;
 * `numa-nodes` it has no CPUs: it follows what is shared on its NUMA nodes, as the pool follows what is left.
 */
export type CpuClaim = 'exclusive' | 'non-exclusive' | 'numa-nodes';

/** The properties of a policy, for the whole program. */
interface PolicyTraits {
  /** The claim of its assignments; null for a policy that makes none. */
  readonly claim: CpuClaim | null;
  /** The function of `core/policy` that decides on a request. */
  readonly grant: 'nothing' | 'container-cpus' | 'pod-cpus' | 'numa-nodes';
  /**
   * The containers that get CPUs: `guaranteed` those that ask for whole CPUs in a Guaranteed pod, `request-is-limit`
   * those whose CPU request is a whole number and also their limit.
   */
  readonly entitles: 'guaranteed' | 'request-is-limit';
  /**
   * The part of the pod that gets what crane-scheduler wrote into the topology-result annotation; null when it is not
   * read.
   */
  readonly scheduledFor: 'container' | 'pod' | null;
  /** It obeys the options of the static policy. */
  readonly takesOptions: boolean;
  /** Crane's own annotation can choose it, by the same name. */
  readonly isCranes: boolean;
}

/**
 * Every policy in one row: its name is what operators, annotations and the state file say. Its function is in
 * `core/policy`.
 */
// prettier-ignore
export const POLICY_TABLE = {
  none:      { claim: null, grant: 'nothing', entitles: 'guaranteed', scheduledFor: null, takesOptions: false, isCranes: true },
  static:    { claim: 'exclusive', grant: 'container-cpus', entitles: 'guaranteed', scheduledFor: 'container', takesOptions: true, isCranes: false },
  exclusive: { claim: 'exclusive', grant: 'pod-cpus', entitles: 'request-is-limit', scheduledFor: 'pod', takesOptions: true, isCranes: true },
  numa:      { claim: 'numa-nodes', grant: 'numa-nodes', entitles: 'request-is-limit', scheduledFor: 'pod', takesOptions: false, isCranes: true },
  immovable: { claim: 'non-exclusive', grant: 'pod-cpus', entitles: 'request-is-limit', scheduledFor: 'pod', takesOptions: false, isCranes: true },
} as const satisfies Readonly<Record<string, PolicyTraits>>;

export type PolicyName = keyof typeof POLICY_TABLE;

export const POLICY_NAMES = Object.keys(POLICY_TABLE) as readonly PolicyName[];

export function isPolicyName(text: string): text is PolicyName {
  return Object.hasOwn(POLICY_TABLE, text);
}

/** A value for each policy, made of its row once. */
export function perPolicy<T>(make: (traits: PolicyTraits, name: PolicyName) => T): Readonly<Record<PolicyName, T>> {
  const entries = POLICY_NAMES.map((name) => [name, make(POLICY_TABLE[name], name)] as const);
  return Object.fromEntries(entries) as Record<PolicyName, T>;
}

/** The kind of assignment that is assumed where the node's policy makes none: that of the kubelet's policy. */
export const DEFAULT_KIND = 'static';

/** A policy, and the annotation of the pod that chose it, unless it is the node's. */
export interface ChosenPolicy {
  readonly policy: PolicyName;
  readonly chosenBy?: string;
}
