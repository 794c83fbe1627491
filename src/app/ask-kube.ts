import type { Logger } from 'pino';
import {
  asObject,
  asString,
  asTexts,
  KubeError,
  readKubeletConfig,
  type KubeClient,
  type KubeletConfig,
  type NodeIdentity,
} from '../kube';

/** The Node that we are on. Without the right to read it, or without a Node of this name, objects have no owner: they are not worth less. */
export async function readNode(client: KubeClient, name: string, log: Logger): Promise<NodeIdentity> {
  try {
    const { metadata } = asObject(await client.send({ method: 'GET', path: `/api/v1/nodes/${name}` }));
    const { uid, labels } = asObject(metadata);
    return { name, uid: asString(uid), labels: asTexts(labels) };
  } catch (error) {
    if (!(error instanceof KubeError) || (error.status !== 403 && error.status !== 404)) throw error;
    log.debug(
      { because: error.message, node: name },
      'the Node can’t be read: what is published will not belong to it',
    );
    return { name, uid: '', labels: {} };
  }
}

/** The kubelet's configuration, through the API server. Never rejects: who asks again and again has time. */
export async function askKubelet(
  client: KubeClient,
  name: string,
  { log, onKubeletConfig }: { readonly log: Logger; readonly onKubeletConfig: (config: KubeletConfig) => void },
): Promise<void> {
  try {
    const told = await client.send({ method: 'GET', path: `/api/v1/nodes/${name}/proxy/configz` });
    const config = readKubeletConfig(told);
    if (config) onKubeletConfig(config);
    else log.warn('the kubelet answered with something that is not its configuration');
  } catch (error) {
    const because = error instanceof KubeError ? error.message : String(error);
    log.debug({ because }, 'the kubelet’s configuration can’t be had; asking again');
  }
}
