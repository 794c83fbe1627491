import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { HealthState } from '../../admin/health-state';
import type { AlarmKind } from '../../admin/model/alarm';
import type { PodSource } from '../../admin/model/status';
import { countNodeResources } from '../../core/node-resources';
import type { NodeView } from '../../core/model/node-model';
import { showText } from '../../core/show-text';
import {
  communityTopology,
  craneTopology,
  EventRecorder,
  KubeClient,
  NodeCondition,
  NodeInformer,
  PodInformer,
  TopologyPublisher,
  type KubeConfigSource,
  type KubeletConfig,
  type NodeIdentity,
  type NodeState,
  type Report,
  type TopologyKind,
} from '../../kube';
import type { Alarms } from '../alarms/alarms';
import { askKubelet } from '../../kube/api/read-node';
import type { PodListener } from './pod-ingest';
import type { Config } from '../config';
import { logFault } from '../alarms/faults';
import { KubeConnection } from './api-server-connection';
import { repairedNews, toNews } from './to-pod-event';
import { repeat } from '../lifecycle/repeat';
import { PodFingerprint } from './pod-fingerprint';
import type { Transaction } from '../transaction/transaction';

export interface KubeParts {
  readonly source: KubeConfigSource;
  readonly config: Config;
  readonly model: NodeView;
  readonly pods: PodListener;
  readonly health: HealthState;
  readonly alarms: Alarms;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now: () => string;
  /** Something changed that status shows. */
  readonly onChange: () => void;
  /** The kubelet's own CPU manager is at work. */
  readonly kubeletIsStatic: () => boolean;
  /** The kubelet's configuration as far as it is known. */
  readonly kubelet: () => KubeletConfig | undefined;
  /** The kubelet's configuration was asked for and came. */
  readonly onKubeletConfig: (config: KubeletConfig) => void;
}

/** What the daemon tells the API server's side, and what it can ask of it. Nothing here ever waits or throws. */
export interface KubeAttachment {
  readonly source: PodSource;
  onTransaction(done: Pick<Transaction, 'reported'>): void;
  onRepaired(containerId: string): void;
  /** The node is another than before: who publishes it looks again. */
  follow(): void;
}

const KUBELET_CONFIG_PERIOD_MS = 5 * 60_000;

/** Hangs the daemon on the API server: pods come in, the node's topology, events and a condition go out. */
export function attachKube(parts: KubeParts): KubeAttachment {
  const { config, model, log: parentLog, now, health, alarms } = parts;
  const { signal } = followSignal(parts.signal);
  const nodeName = config.nodeName ?? hostname().toLowerCase();
  const log = parentLog.child({ op: 'kube' });
  const client = new KubeClient(parts.source, signal);
  const connection = new KubeConnection({ nodeName, health, alarms, log, signal, now, onChange: parts.onChange });
  let heardAt: string | undefined;
  const hear = (): void => void (heardAt = now());

  const informer = new PodInformer({
    client,
    nodeName,
    log,
    signal,
    sink: {
      onList: (specs) => {
        log.info({ pods: specs.length }, 'the API server told of the pods of this node');
        hear();
        parts.pods.onList(specs);
        publish();
      },
      onPod: (spec) => {
        hear();
        parts.pods.onPod(spec);
        publish();
      },
      onGone: (uid) => {
        hear();
        parts.pods.onGone(uid);
        publish();
      },
    },
    onState: (state, reason) => connection.become(state, reason),
  });

  const fingerprint = new PodFingerprint({ mode: config.topologyPodFingerprint, log });
  const report = (node: NodeIdentity, kind: TopologyKind): Report | undefined => {
    // Before the runtime has told what runs, everything would look free.
    if (!model.synchronized) return undefined;
    const pods = kind === communityTopology ? fingerprint.of(informer.pods, model) : undefined;
    const kubelet = parts.kubelet();
    return {
      node,
      resources: countNodeResources(model),
      kubeletIsStatic: parts.kubeletIsStatic(),
      ...(kubelet && { kubelet }),
      ...(pods !== undefined && { fingerprint: pods }),
    };
  };
  const nodeInformer = new NodeInformer({ client, nodeName, log, signal, onChange: () => publish() });
  const publishers = kindsOf(config).map(
    (kind) =>
      new TopologyPublisher({
        client,
        kind,
        nodeName,
        node: () => nodeInformer.node,
        report: (node) => report(node, kind),
        log,
        signal,
      }),
  );
  const publish = (): void => {
    for (const publisher of publishers) publisher.touch();
  };
  if (publishers.length > 0) {
    nodeInformer
      .follow()
      .catch((error: unknown) =>
        logFault(log, 'the Node is followed no more: what is published stays as it is', error),
      );
    fingerprint
      .load()
      .then(publish)
      .catch((error: unknown) => logFault(log, 'pods are published without a fingerprint', error));
  }

  const learnKubeletConfig = (found: KubeletConfig): void => {
    parts.onKubeletConfig(found);
    publish();
  };
  const events = config.kubeEvents ? new EventRecorder({ client, nodeName, log, signal, now }) : undefined;
  const condition = config.nodeCondition
    ? new NodeCondition({ client, nodeName, log, signal, now, state: () => stateOf(config, health, alarms) })
    : undefined;
  if (config.kubeletConfig?.kind === 'configz')
    repeat(askKubelet({ client, nodeName, log, onKubeletConfig: learnKubeletConfig }), {
      periodMs: KUBELET_CONFIG_PERIOD_MS,
      signal,
    }).catch((error: unknown) => logFault(log, 'the kubelet’s configuration is asked for no more', error));

  informer.start();
  publish();
  condition?.touch();
  return {
    get source() {
      return { ...connection.current, pods: informer.pods?.length ?? 0, ...(heardAt !== undefined && { heardAt }) };
    },
    onTransaction: ({ reported }) => {
      for (const event of events ? reported : []) {
        const news = toNews(model, event);
        if (news) events?.record(news);
      }
    },
    onRepaired: (containerId) => {
      const news = events && repairedNews(model, containerId);
      if (news) events.record(news);
    },
    follow: () => {
      publish();
      condition?.touch();
    },
  };
}

/** A signal of our own that ends with the daemon's: every call under way listens to it. */
function followSignal(daemon: AbortSignal): AbortController {
  const own = new AbortController();
  setMaxListeners(0, own.signal);
  daemon.addEventListener('abort', () => own.abort(daemon.reason), { once: true });
  return own;
}

function kindsOf({ nodeResourceTopology }: Config) {
  const all = [communityTopology, craneTopology];
  return nodeResourceTopology === 'both' ? all : all.filter(({ name }) => name === nodeResourceTopology);
}

/** Alarms about what does not keep containers from their CPUs. */
const BESIDE_PINNING: ReadonlySet<string> = new Set<AlarmKind>(['api-server', 'not-listening', 'not-watched']);

/** As the Node's condition says it. */
function stateOf({ mode }: Config, health: HealthState, alarms: Alarms): NodeState {
  if (health.get(mode === 'nri' ? 'nri' : 'cri') !== 'SERVING')
    return {
      ready: false,
      reason: 'RuntimeNotConnected',
      message: 'not connected to the container runtime: new containers are not pinned',
    };
  const alarm = alarms.list().find(({ kind }) => !BESIDE_PINNING.has(kind));
  if (alarm) return { ready: false, reason: 'Alarm', message: showText(alarm.because) };
  return { ready: true, reason: 'Pinning', message: 'containers get their CPUs as promised' };
}
