import { isJsonObject, type JsonObject } from '../../core/json-object';

/** Crane's agent reads the template here, and cpusetd reads the same. */
export const TEMPLATE = { namespace: 'crane-system', name: 'noderesource-tsp-template', key: 'spec' } as const;
/** The namespace of the objects for Nodes, as Crane's agent creates them. */
export const PREDICTION_NAMESPACE = 'crane-system';

/** The name of the object for a node, in `PREDICTION_NAMESPACE`. */
export function predictionNameOf(nodeName: string): string {
  return `noderesource-${nodeName}`;
}

/**
 * The spec of a TimeSeriesPrediction for a Node from what its template says; the target is always the Node. Throws
 * Error that says what is wrong.
 */
export function toPredictionSpec(value: unknown, nodeName: string): JsonObject {
  if (!isJsonObject(value)) throw new Error('it is no object with predictionMetrics');
  const { predictionMetrics } = value;
  if (!Array.isArray(predictionMetrics) || predictionMetrics.length === 0)
    throw new Error('it has no predictionMetrics: write a list of what is to be predicted');
  for (const [index, metric] of predictionMetrics.entries())
    if (!isJsonObject(metric) || typeof metric['resourceIdentifier'] !== 'string')
      throw new Error(`predictionMetrics[${index}] has no resourceIdentifier: write cpu or memory`);
  return { ...value, targetRef: { kind: 'Node', apiVersion: 'v1', name: nodeName } };
}
