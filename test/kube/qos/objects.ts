/** JSON of the API server, as a client gets it. */
export type Json = Record<string, unknown>;

/** A copy as JSON.parse makes it: also with own fields such as `__proto__`. */
export const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

/** The objects and lists within a value, itself included. */
export function objectsIn(value: unknown, found = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found;
  found.add(value);
  for (const part of Object.values(value)) objectsIn(part, found);
  return found;
}

/** The parts of the result that are parts of the JSON too. */
export const sharedParts = (json: unknown, result: unknown): unknown[] => {
  const own = objectsIn(json);
  return [...objectsIn(result)].filter((part) => own.has(part));
};

export const nodeQosOf = (spec: Json, metadata: Json = {}): Json => ({
  apiVersion: 'ensurance.crane.io/v1alpha1',
  kind: 'NodeQOS',
  metadata: { name: 'high-load', uid: 'u1', ...metadata },
  spec,
});

export const ruleOf = (fields: Json = {}, metricRule: Json = {}): Json => ({
  name: 'cpu',
  actionName: 'throttle',
  metricRule: { name: 'cpu_total_utilization', value: 80, ...metricRule },
  ...fields,
});

export const podQosOf = (spec: Json): Json => ({
  apiVersion: 'ensurance.crane.io/v1alpha1',
  kind: 'PodQOS',
  metadata: { name: 'elastic' },
  spec,
});

export const actionOf = (spec: Json): Json => ({
  apiVersion: 'ensurance.crane.io/v1alpha1',
  kind: 'AvoidanceAction',
  metadata: { name: 'throttle' },
  spec,
});

export const podOf = ({
  metadata = {},
  spec = {},
  status = {},
}: {
  metadata?: Json;
  spec?: Json;
  status?: Json;
}): Json => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', creationTimestamp: '2026-11-26T03:00:00Z', ...metadata },
  spec: { containers: [{ name: 'app' }], ...spec },
  status: { phase: 'Running', qosClass: 'BestEffort', startTime: '2026-11-26T03:00:05Z', ...status },
});
