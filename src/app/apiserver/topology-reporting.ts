import { countNodeResources } from '../../core/node-resources/node-resources';
import {
  communityTopology,
  craneTopology,
  TopologyPublisher,
  type NodeIdentity,
  type Report,
  type TopologyKind,
} from '../../kube';
import { logFault } from '../alarms/faults';
import type { Config } from '../config';
import type { DaemonContext } from '../context';
import type { KubeAccess, KubeletFacts } from './kube-access';
import { PodFingerprint } from './pod-fingerprint';
import type { FollowedPods } from './pod-source';

export interface TopologyReportingParts {
  readonly context: DaemonContext;
  readonly access: KubeAccess;
  readonly kubelet: KubeletFacts;
  readonly pods: Pick<FollowedPods, 'list'>;
  /** Our Node; undefined before the API server's first answer. */
  readonly node: () => NodeIdentity | undefined;
}

/** Publishes the NodeResourceTopology objects of this node that the operator chose. */
export class TopologyReporting {
  private readonly fingerprint: PodFingerprint;
  private readonly publishers: readonly TopologyPublisher[];

  constructor(private readonly parts: TopologyReportingParts) {
    const { context, access, node } = parts;
    this.fingerprint = new PodFingerprint({ mode: context.config.topologyPodFingerprint, log: access.log });
    this.publishers = kindsOf(context.config).map(
      (kind) =>
        new TopologyPublisher({
          ...access,
          kind,
          node,
          report: (node) => this.report(node, kind),
        }),
    );
  }

  /** Publishes soon, if there is something new. */
  touch(): void {
    for (const publisher of this.publishers) publisher.touch();
  }

  /** Publishes for the first time. Resolves when the library of fingerprints is loaded; never rejects. */
  async run(): Promise<void> {
    if (this.publishers.length === 0) return;
    const loading = this.fingerprint.load().then(() => this.touch());
    await loading.catch((error: unknown) =>
      logFault(this.parts.access.log, 'pods are published without a fingerprint', error),
    );
  }

  private report(node: NodeIdentity, kind: TopologyKind): Report | undefined {
    const { context, kubelet, pods } = this.parts;
    const { model } = context;
    // Before the first synchronization with the runtime everything would look free.
    if (!model.synchronized) return undefined;
    const fingerprint = kind === communityTopology ? this.fingerprint.of(pods.list, model) : undefined;
    return {
      node,
      resources: countNodeResources(model),
      kubeletIsStatic: kubelet.isStatic,
      ...(kubelet.config && { kubelet: kubelet.config }),
      ...(fingerprint !== undefined && { fingerprint }),
    };
  }
}

function kindsOf({ nodeResourceTopology }: Config): readonly TopologyKind[] {
  const all = [communityTopology, craneTopology];
  return nodeResourceTopology === 'both' ? all : all.filter(({ name }) => name === nodeResourceTopology);
}
