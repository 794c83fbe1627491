import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KubeClient, MERGE_PATCH } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import { readClusterFacts } from './cluster-facts';

const run = promisify(execFile);

let admin: KubeClient | undefined;
const client = (): KubeClient =>
  (admin ??= new KubeClient(
    { kind: 'file', path: readClusterFacts().kubeconfigs.admin },
    new AbortController().signal,
  ));

/** Calls of the API server with all rights. The caller names the type of the answer. */
export const kubeApi = {
  get: async <T>(path: string, query?: Record<string, string>): Promise<T> =>
    (await client().send({ method: 'GET', path, ...(query && { query }) })) as T,
  create: async <T>(path: string, body: object): Promise<T> =>
    (await client().send({ method: 'POST', path, body })) as T,
  patch: async <T>(path: string, body: object, contentType = MERGE_PATCH): Promise<T> =>
    (await client().send({ method: 'PATCH', path, body, contentType })) as T,
  delete: async (path: string, body: object = {}): Promise<void> => {
    await client().send({ method: 'DELETE', path, body });
  },
  /** Undefined when there is no such object. */
  find: async <T>(path: string): Promise<T | undefined> => {
    try {
      return await kubeApi.get<T>(path);
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  },
};

/** Runs kubectl as the administrator. @throws unless it exits with 0; the error has its standard error */
export async function kubectl(...args: string[]): Promise<string> {
  const { programs, kubeconfigs } = readClusterFacts();
  const { stdout } = await run(join(programs, 'kubectl'), ['--kubeconfig', kubeconfigs.admin, ...args], {
    maxBuffer: 2 ** 26,
  });
  return stdout;
}
