import { TOPOLOGY_RESULT, MAX_RESULT_LENGTH } from '../../core/annotations/topology-result';
import { asArray, asObject, asString } from '../../kube';
import { formatAmount, readAmounts, type Amounts, type ZoneAmounts } from './amounts';

export { TOPOLOGY_RESULT };

/** The resources that a pod gets in one zone. */
export interface ZoneGrant {
  readonly zone: string;
  readonly amounts: Amounts;
}

const MAX_ZONES = 256;

/**
 * The annotation `topology.crane.io/topology-result` as crane-scheduler writes it:
 * `[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"2"}}}]`.
 */
export function formatTopologyResult(grants: readonly ZoneGrant[]): string {
  return JSON.stringify(
    grants.map(({ zone, amounts }) => ({
      name: zone,
      type: 'Node',
      resources: {
        capacity: Object.fromEntries([...amounts].map(([resource, of]) => [resource, formatAmount(resource, of)])),
      },
    })),
  );
}

/** The zones of such an annotation: those of the type `Node`, with any name. Empty for a text that can't be read. */
export function readTopologyResult(text: string): ZoneAmounts {
  const zones = new Map<string, Amounts>();
  for (const zone of parseList(text).slice(0, MAX_ZONES)) {
    const { type, name, resources } = asObject(zone);
    if (type === 'Node') zones.set(asString(name), readAmounts(asObject(asObject(resources)['capacity'])));
  }
  return zones;
}

function parseList(text: string): readonly unknown[] {
  if (text.length > MAX_RESULT_LENGTH) return [];
  try {
    return asArray(JSON.parse(text));
  } catch {
    return [];
  }
}
