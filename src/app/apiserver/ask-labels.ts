import type { Logger } from 'pino';
import { explainKubeError, KubeClient, toNodeIdentity } from '../../kube';
import type { Config, NodeLabels } from '../config';

/** Maximum time that a start waits for labels that were never known. */
const PATIENCE_MS = 5_000;

/**
 * Asks the API server once for the labels of our Node. Undefined when they have not come in time: the log says why.
 * Never rejects.
 */
export async function askLabels(
  { kubeconfig }: Pick<Config, 'kubeconfig'>,
  { nodeName, log, signal }: { readonly nodeName: string; readonly log: Logger; readonly signal: AbortSignal },
): Promise<NodeLabels | undefined> {
  if (kubeconfig === undefined) return undefined;
  const ended = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  try {
    const client = new KubeClient(kubeconfig, ended);
    const path = `/api/v1/nodes/${nodeName}`;
    return toNodeIdentity(await client.send({ method: 'GET', path, timeoutMs: PATIENCE_MS })).labels;
  } catch (error) {
    log.warn({ node: nodeName, because: explainKubeError(error) }, 'the labels of the Node can’t be had at the start');
    return undefined;
  }
}
