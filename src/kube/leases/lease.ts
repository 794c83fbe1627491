import { asObject, asString, type JsonObject } from '../json';

/** The fields that matter of a Lease (`coordination.k8s.io/v1`). */
export interface LeaseRecord {
  /** Empty = nobody holds it. */
  readonly holder: string;
  readonly leaseDurationS: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly transitions: number;
}

/** Reads a Lease; a field of an unexpected type counts as absent. */
export function readLease(object: unknown): LeaseRecord {
  const spec = asObject(asObject(object)['spec']);
  return {
    holder: asString(spec['holderIdentity']),
    leaseDurationS: asCount(spec['leaseDurationSeconds']),
    acquireTime: asString(spec['acquireTime']),
    renewTime: asString(spec['renewTime']),
    transitions: asCount(spec['leaseTransitions']),
  };
}

/** The Lease with another record. Fields that are not of the record stay. */
export function writeLease(object: JsonObject, record: LeaseRecord): JsonObject {
  return {
    ...object,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: {
      ...asObject(object['spec']),
      holderIdentity: record.holder,
      leaseDurationSeconds: record.leaseDurationS,
      acquireTime: record.acquireTime,
      renewTime: record.renewTime,
      leaseTransitions: record.transitions,
    },
  };
}

/** A time as Kubernetes' MicroTime: RFC 3339 with six digits after the second. */
export function formatMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
