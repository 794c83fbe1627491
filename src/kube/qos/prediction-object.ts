import { PREDICTION_NAMESPACE, predictionNameOf, TEMPLATE } from '../../qos/prediction/prediction-spec';
import { MERGE_PATCH, type KubeClient } from '../api/kube-client';
import type { Right } from '../api/missing-rights';
import { asObject, asString, resourceVersionOf, type JsonObject } from '../json';
import { createMergePatch } from '../objects/merge-patch';
import { ownerPatch, type NodeIdentity } from '../objects/owner-reference';

export const PREDICTION = 'prediction.crane.io/v1alpha1';
/** The collection that the object for our Node is in. */
export const PREDICTIONS = `/apis/${PREDICTION}/namespaces/${PREDICTION_NAMESPACE}/timeseriespredictions`;

/** The object for our Node as the API server has it. */
export interface StoredPrediction {
  /** Its spec as JSON. */
  readonly spec: string;
  readonly version: string;
}

const needed = (verb: string, resource: string): Right => ({
  verb,
  resource,
  lost: 'Crane’s predictor is not asked for a prediction of this node',
  file: 'deploy/components/qos/rbac.yaml',
});

/** The rights to read the Node, and to write the object for it. */
export const ASK_FOR_PREDICTION = {
  get: needed('get', 'nodes'),
  create: needed('create', 'timeseriespredictions.prediction.crane.io'),
  patch: needed('patch', 'timeseriespredictions.prediction.crane.io'),
};

/** The spec and the version of a stored object; no part of it is kept. */
export function toStoredPrediction(object: unknown): StoredPrediction {
  return { spec: JSON.stringify(asObject(asObject(object)['spec'])), version: resourceVersionOf(object) };
}

/** The template in its ConfigMap; empty where the ConfigMap has none. */
export function readPredictionTemplate(configMap: unknown): string {
  return asString(asObject(asObject(configMap)['data'])[TEMPLATE.key]);
}

/** Creates the object for a Node, which is its owner. Throws KubeError. */
export async function createPrediction(
  client: Pick<KubeClient, 'send'>,
  node: NodeIdentity,
  spec: JsonObject,
): Promise<StoredPrediction> {
  const metadata = {
    name: predictionNameOf(node.name),
    namespace: PREDICTION_NAMESPACE,
    ...ownerPatch(undefined, node),
  };
  const body = { apiVersion: PREDICTION, kind: 'TimeSeriesPrediction', metadata, spec };
  return toStoredPrediction(await client.send({ method: 'POST', path: PREDICTIONS, body }));
}

/**
 * Makes the stored spec equal to `spec`; undefined when it is. Never overwrites another writer's change. Throws
 * KubeError.
 */
export async function patchPrediction(
  client: Pick<KubeClient, 'send'>,
  nodeName: string,
  stored: StoredPrediction,
  spec: JsonObject,
): Promise<StoredPrediction | undefined> {
  const patch = createMergePatch({ spec: JSON.parse(stored.spec) as unknown }, { spec });
  if (Object.keys(patch).length === 0) return undefined;
  const body = { ...patch, metadata: { resourceVersion: stored.version } };
  const path = `${PREDICTIONS}/${predictionNameOf(nodeName)}`;
  return toStoredPrediction(await client.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body }));
}
