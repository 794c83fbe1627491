import { accessSync, constants } from 'node:fs';
import { KubeConfig } from '../kube-library';
import { KubeError } from './kube-error';

/** Where the API server is, and who we are to it. */
export type KubeConfigSource = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'in-cluster' };

const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Reads it. Throws KubeError with what is missing; that may come later, as on a node that is only joining. */
// eslint-disable-next-line @typescript-eslint/require-await -- a rejection, so that callers have one way to fail
export async function loadKubeConfig(source: KubeConfigSource): Promise<KubeConfig> {
  const config = new KubeConfig();
  if (source.kind === 'in-cluster') {
    requireReadable(TOKEN, 'no service account in this pod');
    if (process.env['KUBERNETES_SERVICE_HOST'] === undefined)
      throw new KubeError('KUBERNETES_SERVICE_HOST is not set: not in a pod; name a file with --kubeconfig', 0);
    config.loadFromCluster();
  } else {
    requireReadable(source.path, 'the kubeconfig can’t be read');
    try {
      config.loadFromFile(source.path);
    } catch (cause) {
      throw new KubeError(`${source.path} is not a kubeconfig: ${(cause as Error).message}`, 0, { cause });
    }
  }
  const cluster = config.getCurrentCluster();
  if (!cluster || !URL.canParse(cluster.server))
    throw new KubeError(`${describeSource(source)} names no API server for its current context`, 0);
  return config;
}

function describeSource(source: KubeConfigSource): string {
  return source.kind === 'file' ? source.path : "the pod's service account";
}

function requireReadable(path: string, problem: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (cause) {
    throw new KubeError(`${problem}: ${path}: ${(cause as NodeJS.ErrnoException).code ?? 'not readable'}`, 0, {
      cause,
    });
  }
}
