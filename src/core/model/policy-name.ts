/** Who decides where a container runs: `none` and `static` are the kubelet's, the others Crane's. */
export const POLICY_NAMES = ['none', 'static', 'exclusive', 'numa', 'immovable'] as const;

export type PolicyName = (typeof POLICY_NAMES)[number];

export function isPolicyName(text: string): text is PolicyName {
  return POLICY_NAMES.some((name) => name === text);
}

/** A policy, and the annotation of the pod that chose it, unless it is the node's. */
export interface ChosenPolicy {
  readonly policy: PolicyName;
  readonly chosenBy?: string;
}
