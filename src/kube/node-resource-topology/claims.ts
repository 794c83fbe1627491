import type { Amounts, ZoneAmounts } from '../../core/fit';
import { asObject, asString } from '../json';
import { formatAmount, readResourceList } from '../objects/resource-list';

/** The zones of a pod that an extender is binding to the node: they are taken, although the pod does not say so yet. */
export interface Claim {
  /** `namespace/name` */
  readonly pod: string;
  readonly zones: ZoneAmounts;
  /** Time of the replica that wrote it, by its own clock. Others compare it with no clock of theirs. */
  readonly atMs: number;
}

/** The annotation of a NodeResourceTopology with its claims. */
export const ASSUMED_PODS = 'cpusetd.io/assumed-pods';

/** Most claims of a node: pods that are being bound to it within a minute. */
export const MAX_CLAIMS = 256;
const MAX_LENGTH = 256 * 1024;

/**
 * Reads the claims of a node from the annotations of its NodeResourceTopology. Only extenders and administrators may
 * write these.
 */
export function readClaims(annotations: Readonly<Record<string, unknown>>): ReadonlyMap<string, Claim> {
  const text = Object.hasOwn(annotations, ASSUMED_PODS) ? annotations[ASSUMED_PODS] : undefined;
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return NONE;
  try {
    return new Map(
      Object.entries(asObject(JSON.parse(text))).map(([uid, claim]) => {
        const { pod, zones, at } = asObject(claim);
        const amounts = Object.entries(asObject(zones)).map(([zone, list]): [string, Amounts] => [
          zone,
          readResourceList(asObject(list)),
        ]);
        return [uid, { pod: asString(pod), zones: new Map(amounts), atMs: Date.parse(asString(at)) || 0 }];
      }),
    );
  } catch {
    return NONE;
  }
}

const NONE: ReadonlyMap<string, Claim> = new Map();

/**
 * The annotation: `{"<uid>":{"pod":"default/db","zones":{"node0":{"cpu":"2"}},"at":"2026-11-23T10:00:00.000Z"}}`; null
 * when there is no claim.
 */
export function formatClaims(claims: ReadonlyMap<string, Claim>): string | null {
  if (claims.size === 0) return null;
  const entries = [...claims].map(([uid, { pod, zones, atMs }]) => [
    uid,
    {
      pod,
      zones: Object.fromEntries([...zones].map(([zone, amounts]) => [zone, formatAmounts(amounts)])),
      at: new Date(atMs).toISOString(),
    },
  ]);
  return JSON.stringify(Object.fromEntries(entries));
}

function formatAmounts(amounts: Amounts): Record<string, string> {
  return Object.fromEntries([...amounts].map(([resource, amount]) => [resource, formatAmount(resource, amount)]));
}
