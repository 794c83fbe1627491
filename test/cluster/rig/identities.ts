import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlaneFacts } from '../../e2e/rig/api-server';
import { readClusterFacts } from './cluster-facts';
import { kubectl } from './kube-api';

/** The `user` of a kubeconfig: a token, a file with one, or the files of a client certificate. */
export type Credentials =
  | { readonly token: string }
  | { readonly tokenFile: string }
  | { readonly 'client-certificate': string; readonly 'client-key': string };

/**
 * Writes a kubeconfig with these credentials into the folder of the control plane: by default that of all tests.
 * @returns its path
 */
export function writeKubeconfig(
  name: string,
  user: Credentials,
  { server, work }: ControlPlaneFacts = readClusterFacts(),
): string {
  const path = join(work, `${name}.kubeconfig`);
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': join(work, 'ca.crt') } }],
    users: [{ name: 'cpusetd', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'cpusetd' } }],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(kubeconfig), { mode: 0o600 });
  return path;
}

/**
 * A token of a service account, by default that of deploy/components/api-server/rbac.yaml, bound to an object or to
 * none.
 */
export async function createToken({
  account = 'cpusetd',
  namespace = 'cpusetd',
  boundTo,
}: {
  readonly account?: string;
  readonly namespace?: string;
  readonly boundTo?: { readonly kind: 'Node' | 'Pod' | 'Secret'; readonly name: string };
} = {}): Promise<string> {
  const bound = boundTo ? ['--bound-object-kind', boundTo.kind, '--bound-object-name', boundTo.name] : [];
  return (await kubectl('create', 'token', account, '--namespace', namespace, '--duration', '4h', ...bound)).trim();
}

/** The id of a token (claim `jti`), which the audit log has with each request. */
export function credentialIdOf(token: string): string {
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { readonly jti: string };
  return `JTI=${claims.jti}`;
}
