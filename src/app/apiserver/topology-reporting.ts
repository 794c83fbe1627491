import { countNodeResources, type NodeResources } from '../../core/node-resources/node-resources';
import { measureRoom, type Room } from '../../core/node-resources/room';
import {
  communityTopology,
  craneTopology,
  TopologyPublisher,
  type NodeIdentity,
  type NodeSummary,
  type PromiseCounts,
  type PublishedGap,
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
  readonly promises: PromiseFacts;
}

/** The facts about promises that are published. */
export interface PromiseFacts {
  readonly counts: () => PromiseCounts;
  /** The gap that lasts, else the last one. */
  readonly gap: () => PublishedGap | undefined;
}

/** Publishes the NodeResourceTopology objects of this node that the operator chose. */
export class TopologyReporting {
  private readonly fingerprint: PodFingerprint;
  private readonly publishers: readonly TopologyPublisher[];
  private room: { readonly revision: number; readonly value: Room } | undefined;
  private lastPromises = '';

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

  /** Publishes soon, if a number of promises has changed: rounds end more often than these do. */
  touchPromises(): void {
    if (this.publishers.length > 0 && this.describePromises() !== this.lastPromises) this.touch();
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
    const resources = countNodeResources(model);
    return {
      node,
      resources,
      summary: this.summarize(resources),
      kubeletIsStatic: kubelet.isStatic,
      ...(kubelet.config && { kubelet: kubelet.config }),
      ...(fingerprint !== undefined && { fingerprint }),
    };
  }

  private summarize({ rules, zones }: NodeResources): NodeSummary {
    const { context, promises } = this.parts;
    const { alarms } = context;
    this.lastPromises = this.describePromises();
    const gap = this.gapToPublish();
    return {
      policy: rules.policy,
      available: zones.map(({ cpu }) => cpu.available),
      ...this.measureRoom(),
      ...promises.counts(),
      alarms: [...new Set(alarms.list().map(({ kind }) => kind))].sort(),
      ...(gap && { gap }),
    };
  }

  private measureRoom(): Room {
    const { model } = this.parts.context;
    if (this.room?.revision !== model.revision) this.room = { revision: model.revision, value: measureRoom(model) };
    return this.room.value;
  }

  /** A gap that is over, and in which no container started, is not reported. */
  private gapToPublish(): PublishedGap | undefined {
    const gap = this.parts.promises.gap();
    if (!gap || (gap.to !== undefined && gap.containers === 0)) return undefined;
    const { from, to, containers } = gap;
    return { from, ...(to !== undefined && { to }), containers };
  }

  private describePromises(): string {
    return JSON.stringify([this.parts.promises.counts(), this.gapToPublish()]);
  }
}

function kindsOf({ nodeResourceTopology }: Config): readonly TopologyKind[] {
  const all = [communityTopology, craneTopology];
  return nodeResourceTopology === 'both' ? all : all.filter(({ name }) => name === nodeResourceTopology);
}
