import { execFile } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KubeClient, MERGE_PATCH } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import { poll } from '../../support/wait-until';
import { readClusterFacts } from './cluster-facts';

const run = promisify(execFile);

/** Maximum time for which a busy machine may keep the API server from answering. */
const unansweredMs = 60_000;

/** Calls of the API server with one identity. The caller names the type of the answer. */
export class KubeApi {
  private made: KubeClient | undefined;

  /** `kubeconfig` gives the path at the first call. */
  constructor(private readonly kubeconfig: () => string) {}

  private get client(): KubeClient {
    return (this.made ??= new KubeClient({ kind: 'file', path: this.kubeconfig() }, endless()));
  }

  /** A read that is not answered is sent again; standard error has why. */
  async get<T extends object>(path: string, query?: Record<string, string>): Promise<T> {
    const ask = async (): Promise<T | undefined> => {
      try {
        return (await this.client.send({ method: 'GET', path, ...(query && { query }) })) as T;
      } catch (error) {
        if (!(error instanceof KubeError && error.status === 0)) throw error;
        process.stderr.write(`GET ${path}: ${error.message}\n`);
        return undefined;
      }
    };
    return poll(`an answer to GET ${path}`, ask, unansweredMs, 1_000);
  }

  async create<T>(path: string, body: object): Promise<T> {
    return (await this.client.send({ method: 'POST', path, body, timeoutMs: unansweredMs })) as T;
  }

  async patch<T>(path: string, body: object, contentType = MERGE_PATCH): Promise<T> {
    const call = { method: 'PATCH', path, body, contentType, timeoutMs: unansweredMs } as const;
    return (await this.client.send(call)) as T;
  }

  async delete(path: string, body: object = {}): Promise<void> {
    await this.client.send({ method: 'DELETE', path, body, timeoutMs: unansweredMs });
  }

  /** Undefined when there is no such object. */
  async find<T extends object>(path: string): Promise<T | undefined> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }
}

/** Calls with all rights. */
export const kubeApi = new KubeApi(() => readClusterFacts().kubeconfigs.admin);

/** A signal for any number of calls at once. */
function endless(): AbortSignal {
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return signal;
}

/** Runs kubectl as the administrator. @throws unless it exits with 0; the error has its standard error */
export async function kubectl(...args: string[]): Promise<string> {
  const { programs, kubeconfigs } = readClusterFacts();
  const { stdout } = await run(join(programs, 'kubectl'), ['--kubeconfig', kubeconfigs.admin, ...args], {
    maxBuffer: 2 ** 26,
  });
  return stdout;
}
