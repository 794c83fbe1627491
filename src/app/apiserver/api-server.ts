import { once } from 'node:events';
import { hostname } from 'node:os';
import type { PodSource } from '../../admin/model/status';
import {
  askKubelet,
  EventRecorder,
  explainKubeError,
  KubeClient,
  NodeCondition,
  NodeInformer,
  type KubeletConfig,
} from '../../kube';
import { logFault } from '../alarms/faults';
import type { DaemonContext } from '../context';
import { pause } from '../../net/pause';
import type { Transaction } from '../transaction/transaction';
import type { Transactor } from '../transaction/transactor';
import type { KubeAccess, KubeletFacts, LabelledOptions } from './kube-access';
import { FollowedPods } from './pod-source';
import { pinningState, STOPPED_STATE } from './pinning-condition';
import { repairedEvent, toPodEvent } from './to-pod-event';
import { TopologyReporting, type PromiseFacts } from './topology-reporting';

export interface ApiServerParts {
  readonly context: DaemonContext;
  readonly transactor: Pick<Transactor, 'handle'>;
  readonly kubelet: KubeletFacts;
  readonly labels: LabelledOptions;
  readonly promises: PromiseFacts;
}

/** Longest time that an orderly end waits for the API server: less than the grace of a pod and of a service by far. */
const STOP_MS = 2_000;

/**
 * Follows the pods of this node, and publishes the node's topology, events and a condition. No method waits or throws.
 */
export class ApiServer {
  private readonly access: KubeAccess;
  private readonly pods: FollowedPods;
  private readonly node: NodeInformer;
  private readonly topology: TopologyReporting;
  private readonly recorder: EventRecorder;
  private writesEvents: boolean;
  private readonly condition: NodeCondition | undefined;

  constructor(private readonly parts: ApiServerParts) {
    const { context, transactor, kubelet, promises } = parts;
    const { config, events, now, signal } = context;
    const log = context.log.child({ op: 'kube' });
    const nodeName = config.nodeName ?? hostname().toLowerCase();
    const access = (this.access = { client: new KubeClient(config.kubeconfig!, signal), nodeName, log, signal });
    this.pods = new FollowedPods({ context, access, transactor, onUpdate: () => this.topology.touch() });
    this.node = new NodeInformer({ ...access, onChange: () => this.noteNode() });
    this.topology = new TopologyReporting({
      context,
      access,
      kubelet,
      promises,
      pods: this.pods,
      node: () => this.node.node,
    });
    this.recorder = new EventRecorder({ ...access, now });
    this.writesEvents = config.kubeEvents;
    events.on('optionsChanged', 'following kube-events and the log level', ({ kubeEvents, logLevel }) => {
      this.writesEvents = kubeEvents;
      log.level = logLevel;
    });
    if (config.nodeCondition)
      this.condition = new NodeCondition({ ...access, now, state: () => pinningState(context) });
    events.on('committed', 'reporting to the API server', (done) => this.report(done));
    events.on('repaired', 'reporting a repair', ({ containerId, outcome }) => {
      if (outcome === 'ok') this.reportRepair(containerId);
    });
    events.on('turnEnded', 'publishing the node', () => this.publish());
    events.on('changed', 'publishing the promises', () => this.topology.touchPromises());
    events.on('alarmsChanged', 'publishing the node', () => this.publish());
  }

  get source(): PodSource {
    return this.pods.source;
  }

  async run(signal: AbortSignal): Promise<void> {
    const asking = this.askKubelet();
    const following = this.followNode(signal);
    const reporting = this.topology.run();
    this.pods.start();
    this.publish();
    await untilAborted(signal);
    await Promise.all([asking, following, reporting, this.publishStop()]);
  }

  /**
   * Tells on the Node that cpusetd is stopped, if the condition is published: it would be believed for minutes
   * otherwise. Once, within `STOP_MS`. Never rejects.
   */
  private async publishStop(): Promise<void> {
    const { condition, access, parts } = this;
    if (!condition) return;
    const done = new AbortController();
    // The other client has ended with the signal.
    const client = new KubeClient(parts.context.config.kubeconfig!, done.signal);
    try {
      await condition.writeLast(STOPPED_STATE, { send: (call) => client.send({ ...call, timeoutMs: STOP_MS }) });
    } catch (error) {
      const because = explainKubeError(error);
      access.log.warn({ because }, 'the Node still says that cpusetd pins, until its condition is old');
    } finally {
      done.abort();
    }
  }

  /** Follows the Node, if something is published about it, or as soon as its labels are wanted. Never rejects. */
  private async followNode(signal: AbortSignal): Promise<void> {
    const { context, labels } = this.parts;
    const { nodeCondition, nodeResourceTopology } = context.config;
    if (!nodeCondition && nodeResourceTopology === 'off') await Promise.race([labels.wanted, untilAborted(signal)]);
    if (signal.aborted) return;
    await this.node
      .follow()
      .catch((error: unknown) =>
        logFault(this.access.log, 'the Node is followed no more: what is published stays as it is', error),
      );
  }

  /** Asks for the kubelet's configuration again and again, if its source is configz. Never rejects. */
  private async askKubelet(): Promise<void> {
    const { config, signal } = this.parts.context;
    if (config.kubeletConfig?.kind !== 'configz') return;
    const ask = askKubelet({ ...this.access, onKubeletConfig: (found) => this.acceptConfig(found) });
    try {
      while (!signal.aborted) await pause(await ask(), signal);
    } catch (error) {
      logFault(this.access.log, 'the kubelet’s configuration is asked for no more', error);
    }
  }

  private noteNode(): void {
    const { uid = '', labels = {} } = this.node.node ?? {};
    this.condition?.noteNode(uid);
    // Without a uid the API server has no such Node, or lets nobody read it.
    if (uid !== '') this.parts.labels.accept(labels);
    this.topology.touch();
  }

  private acceptConfig(found: KubeletConfig): void {
    this.parts.kubelet.accept(found);
    this.topology.touch();
  }

  private publish(): void {
    this.topology.touch();
    this.condition?.touch();
  }

  private report({ reported }: Pick<Transaction, 'reported'>): void {
    for (const event of this.writesEvents ? reported : []) {
      const message = toPodEvent(this.parts.context.model, event);
      if (message) this.recorder.record(message);
    }
  }

  private reportRepair(containerId: string): void {
    const message = this.writesEvents ? repairedEvent(this.parts.context.model, containerId) : undefined;
    if (message) this.recorder.record(message);
  }
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
