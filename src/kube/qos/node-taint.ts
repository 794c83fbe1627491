import { MERGE_PATCH, type KubeClient } from '../api/kube-client';
import { KubeError } from '../api/kube-error';
import type { Right } from '../api/missing-rights';
import { asArray, asObject, resourceVersionOf, type JsonObject } from '../json';
import { NodeCondition, type NodeConditionParts } from '../reporting/node-condition';

/** Key of the taint that keeps new pods off a node while a rule is triggered, as Crane names it. */
export const INTERFERENCE_TAINT = 'interference.crane.io';
const EFFECT = 'PreferNoSchedule';
/** Type of the condition of the Node that says the same, as Crane names it. */
export const INTERFERENCE_CONDITION = 'interference-identified';
const MAX_TRIES = 3;

export interface TaintChange {
  /** False = the Node was as wanted already, or must stay as it is. */
  readonly changed: boolean;
  /** For the operator. */
  readonly because: string;
}

/** The rights that `setInterferenceTaint` needs. */
export const TAINT_NODE: readonly [Right, Right] = [
  { verb: 'get', resource: 'nodes', lost: 'the Node is not tainted', file: 'deploy/components/qos/rbac.yaml' },
  { verb: 'patch', resource: 'nodes', lost: 'the Node is not tainted', file: 'deploy/components/qos/rbac.yaml' },
];

/**
 * Adds or removes the taint `interference.crane.io:PreferNoSchedule`. Other taints stay, also those that others add at
 * the same time: the write names the version that it is based on, and is made anew when that is not the newest. A taint
 * of this key with another effect or a value is somebody else's, and stays. Throws KubeError.
 */
export async function setInterferenceTaint(
  client: Pick<KubeClient, 'send'>,
  nodeName: string,
  wanted: boolean,
): Promise<TaintChange> {
  const path = `/api/v1/nodes/${nodeName}`;
  for (let tries = 1; ; tries++) {
    const node = await client.send({ method: 'GET', path });
    const before = taintsOf(node);
    const others = before.filter((taint) => !isOurs(taint));
    const unchanged = reasonToStay(before, others, wanted);
    if (unchanged !== undefined) return { changed: false, because: unchanged };
    const taints = wanted ? [...others, { key: INTERFERENCE_TAINT, effect: EFFECT }] : others;
    try {
      await client.send({
        method: 'PATCH',
        path,
        contentType: MERGE_PATCH,
        body: {
          metadata: { resourceVersion: resourceVersionOf(node) },
          spec: { taints: taints.length > 0 ? taints : null },
        },
      });
      return { changed: true, because: `the taint ${INTERFERENCE_TAINT} is ${wanted ? 'added' : 'removed'}` };
    } catch (error) {
      if (!(error instanceof KubeError && error.status === 409) || tries === MAX_TRIES) throw error;
    }
  }
}

/** True when the Node has our taint. */
export function hasInterferenceTaint(node: unknown): boolean {
  return taintsOf(node).some(isOurs);
}

function reasonToStay(
  before: readonly JsonObject[],
  others: readonly JsonObject[],
  wanted: boolean,
): string | undefined {
  if (wanted === others.length < before.length)
    return `the taint ${INTERFERENCE_TAINT} is ${wanted ? 'there' : 'not there'} already`;
  const taken = wanted && others.find(({ key, effect }) => key === INTERFERENCE_TAINT && effect === EFFECT);
  // A Node has one taint of a key and effect.
  return taken ? `somebody else has set ${INTERFERENCE_TAINT}=${String(taken['value'])}:${EFFECT}` : undefined;
}

const taintsOf = (node: unknown): JsonObject[] =>
  asArray(asObject(asObject(node)['spec'])['taints']).map((taint) => asObject(taint));

const isOurs = ({ key, effect, value = '' }: JsonObject): boolean =>
  key === INTERFERENCE_TAINT && effect === EFFECT && value === '';

/** Content of the condition `interference-identified`. */
export interface Interference {
  readonly isIdentified: boolean;
  /** A word in upper camel case. */
  readonly reason: string;
  readonly message: string;
}

/**
 * Writes the condition `interference-identified` of the Node at changes, and at each heartbeat. It needs `patch` of
 * `nodes/status`.
 */
export function interferenceCondition({
  state,
  ...parts
}: Omit<NodeConditionParts, 'state' | 'type'> & { readonly state: () => Interference }): NodeCondition {
  return new NodeCondition({
    ...parts,
    type: INTERFERENCE_CONDITION,
    state: () => {
      const { isIdentified, reason, message } = state();
      return { ready: isIdentified, reason, message };
    },
  });
}
