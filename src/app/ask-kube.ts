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
import { logFault } from './faults';

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

/** Asks for the kubelet's configuration through the API server, and says once that it can't be had, until it can. */
export class KubeletAsker {
  private saidReason = '';

  constructor(
    private readonly parts: {
      readonly client: KubeClient;
      readonly nodeName: string;
      readonly log: Logger;
      readonly signal: AbortSignal;
      readonly onKubeletConfig: (config: KubeletConfig) => void;
    },
  ) {}

  /** Never rejects: who asks again and again has time. */
  async ask(): Promise<void> {
    const { client, nodeName, log, onKubeletConfig } = this.parts;
    try {
      const told = await client.send({ method: 'GET', path: `/api/v1/nodes/${nodeName}/proxy/configz` });
      const config = readKubeletConfig(told);
      if (!config) {
        this.say('the kubelet answered with something that is not its configuration');
        return;
      }
      this.saidReason = '';
      onKubeletConfig(config);
    } catch (error) {
      if (error instanceof KubeError) this.say(error.message);
      else logFault(log, 'a fault in taking over the kubelet’s configuration', error);
    }
  }

  private say(because: string): void {
    if (this.parts.signal.aborted) return; // our own end cancels what is under way
    const level = because === this.saidReason ? 'debug' : 'warn';
    this.saidReason = because;
    this.parts.log[level]({ because }, 'the kubelet’s configuration can’t be had; asking again');
  }
}
