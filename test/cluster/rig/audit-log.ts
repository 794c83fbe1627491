import { readFileSync } from 'node:fs';
import { type RequestedRight } from '../../support/kube/rbac';
import { readClusterFacts } from './cluster-facts';

/** A request in the audit log of the API server. */
export interface AuditedRequest extends RequestedRight {
  readonly path: string;
  /** The HTTP status. */
  readonly code: number;
}

/** All requests that were made with one credential: a token by its id, see `credentialIdOf`. */
export function readAuditLog(credentialId: string): AuditedRequest[] {
  const lines = readFileSync(readClusterFacts().auditLog, 'utf8').split('\n').slice(0, -1);
  return lines
    .filter((line) => line.includes(credentialId))
    .map((line) => JSON.parse(line) as AuditEvent)
    .flatMap(({ verb, requestURI, user, objectRef, responseStatus }) => {
      const used = user.extra?.['authentication.kubernetes.io/credential-id'] ?? [];
      if (objectRef === undefined || !used.includes(credentialId)) return [];
      const { apiGroup = '', resource, subresource } = objectRef;
      const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
      return [{ verb, resource: `${apiGroup}/${whole}`, path: requestURI, code: responseStatus?.code ?? 0 }];
    });
}

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: { readonly apiGroup?: string; readonly resource: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code: number };
}
