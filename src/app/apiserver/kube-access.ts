import type { Logger } from 'pino';
import type { KubeClient, KubeletConfig } from '../../kube';
import type { NodeLabels } from '../config';

/** The kubelet of this node, as far as it is known. */
export interface KubeletFacts {
  /** True when the kubelet may give out CPUs itself, which schedulers must know. */
  readonly isStatic: boolean;
  readonly config: KubeletConfig | undefined;
  /** Takes over the kubelet's configuration, as the API server passed it on. */
  accept(config: KubeletConfig): void;
}

/** The options that depend on the labels of our Node. */
export interface LabelledOptions {
  /** Resolves as soon as some option depends on them. */
  readonly wanted: Promise<void>;
  /** Takes over the labels of now. */
  accept(labels: NodeLabels): void;
}

/** One client of the API server, shared by all parts that use it. */
export interface KubeAccess {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}
