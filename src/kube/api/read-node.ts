import type { Logger } from 'pino';
import { BackOff } from '../../net/back-off';
import { readKubeletConfig, type KubeletConfig } from '../kubelet/kubelet-config';
import type { KubeClient } from './kube-client';
import { KubeError } from './kube-error';
import { MissingRights } from './missing-rights';

export interface AskKubeletParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly nodeName: string;
  readonly log: Logger;
  readonly onKubeletConfig: (config: KubeletConfig) => void;
}

const PERIOD_MS = 5 * 60_000;

/**
 * Returns the function that reads the kubelet's configuration through the API server. It never rejects, and resolves
 * with the milliseconds until the next call: the period, less after a failure, which a kubelet that is about to start
 * causes too.
 */
export function askKubelet({ client, nodeName, log, onKubeletConfig }: AskKubeletParts): () => Promise<number> {
  const rights = new MissingRights(log);
  const lost = 'the reservation of the kubelet is not known, and not whether it pins containers too';
  const failures = new BackOff({ leastMs: 1_000, mostMs: PERIOD_MS });
  let lastProblem = '';
  return async () => {
    try {
      const answer = await client.send({ method: 'GET', path: `/api/v1/nodes/${nodeName}/proxy/configz` });
      const config = readKubeletConfig(answer);
      if (!config) throw new Error('the kubelet answered with something that is not its configuration');
      lastProblem = '';
      failures.reset();
      onKubeletConfig(config);
      return PERIOD_MS;
    } catch (error) {
      if (rights.note(error, { verb: 'get', resource: 'nodes/proxy', lost })) return PERIOD_MS;
      const because = error instanceof Error ? error.message : String(error);
      const level = error instanceof KubeError || because === lastProblem ? 'debug' : 'warn';
      log[level]({ because }, 'the kubelet’s configuration can’t be had; asking again');
      lastProblem = because;
      return failures.next();
    }
  };
}
