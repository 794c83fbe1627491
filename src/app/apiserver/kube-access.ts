import type { Logger } from 'pino';
import type { KubeClient, KubeletConfig } from '../../kube';

/** The kubelet of this node, as far as it is known. */
export interface KubeletFacts {
  /** True when schedulers must take the kubelet for the one that pins. */
  readonly isStatic: boolean;
  readonly config: KubeletConfig | undefined;
  /** Takes over the kubelet's configuration, as the API server passed it on. */
  accept(config: KubeletConfig): void;
}

/** One client of the API server, with what all that use it need. */
export interface KubeAccess {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}
