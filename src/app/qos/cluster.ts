import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import {
  EVICT_PODS,
  EventRecorder,
  evictPod,
  interferenceCondition,
  KubeError,
  MissingRights,
  NodeInformer,
  parseAvoidanceAction,
  parseNodeQos,
  parsePodQos,
  parsePrediction,
  parseQosPod,
  QosObjects,
  readPredictionTemplate,
  setInterferenceTaint,
  TAINT_NODE,
  toNodeState,
  toStoredPrediction,
  writeElasticResources,
  type Followed,
  type Interference,
  type KubeClient,
  type NodeCondition,
  type QosNodeState,
  type StoredPrediction,
} from '../../kube';
import { LastProblem } from '../../net/connection-state';
import type { AvoidanceEvent } from '../../qos/analysis/finding';
import type { StepPod } from '../../qos/avoidance/plan';
import type { PodActionEvent } from '../../qos/avoidance/pod-event';
import type { QosPod } from '../../qos/objects/objects';
import type { ObjectsOfNode } from '../../qos/objects/objects-of-node';
import type { TimeSeriesPrediction } from '../../qos/reclaim/prediction';
import { heldBy } from '../../qos/reclaim/plan-publish';
import type { PublishedResources } from '../../qos/reclaim/should-publish';
import type { DaemonContext } from '../context';
import type { NodeActions } from './action-executor';
import type { NodeReading } from './lent-resources';
import type { EvictionOutcome } from './pod-evictions';
import { PredictionJob } from './prediction-job';

export interface ClusterParts {
  /** Aborted with its own signal, later than `signal`: what is undone at the end needs it. */
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly log: Logger;
  /** Ends what is followed. */
  readonly signal: AbortSignal;
  /** The clock, RFC 3339. */
  readonly now: () => string;
  /** Rules and predictions are followed on request; pods always are. */
  readonly follows: { readonly rules: boolean; readonly predictions: boolean };
  /** Keeps the object that asks for a prediction as its template says. Absent = what is there is only followed. */
  readonly asksForPrediction?: Pick<DaemonContext, 'faults'>;
  readonly alarms: DaemonContext['alarms'];
}

/** Objects of one kind that an alarm names. */
const MAX_NAMED = 3;
/** The prediction for our Node, and the spec that asked for it. */
type Prediction = TimeSeriesPrediction & StoredPrediction;

/** Maximum age of the last news of the API server with which objects count as true. */
const OBJECTS_LAST_MS = 60_000;

/** The API server, as far as this room needs it: the objects that are followed, and what is written. */
export class Cluster implements NodeActions {
  private readonly objects: QosObjects<Prediction>;
  private readonly predicting: PredictionJob | undefined;
  private readonly node: NodeInformer;
  private readonly recorder: EventRecorder;
  private readonly condition: NodeCondition;
  private readonly rights: MissingRights;
  private state: QosNodeState | undefined;
  private readonly unreadPod = new LastProblem();
  private byRuntimeUid: ReadonlyMap<string, QosPod> | undefined;
  private interference: Interference = { isIdentified: false, reason: 'NoInterference', message: '' };

  constructor(private readonly parts: ClusterParts) {
    const { follows, client, nodeName, log, signal, now, asksForPrediction, alarms } = parts;
    this.rights = new MissingRights(log);
    this.objects = new QosObjects({
      client,
      nodeName,
      log,
      signal,
      onChange: () => {
        this.byRuntimeUid = undefined;
        this.predicting?.touch();
        if (follows.rules) this.showRefused();
      },
      readers: {
        pod: (object) => this.readPod(object),
        ...(follows.rules && { nodeQos: parseNodeQos, podQos: parsePodQos, action: parseAvoidanceAction }),
        ...(follows.predictions && {
          prediction: (object) => ({ ...parsePrediction(object), ...toStoredPrediction(object) }),
        }),
        ...(asksForPrediction && { template: readPredictionTemplate }),
      },
    });
    this.predicting =
      asksForPrediction &&
      new PredictionJob({
        context: { ...asksForPrediction, alarms, log },
        client,
        nodeName,
        signal,
        template: () => this.objects.templates,
        stored: () => this.objects.predictions,
      });
    this.node = new NodeInformer({
      client,
      nodeName,
      log,
      signal,
      onChange: () => undefined,
      onNode: (object) => this.takeNode(object),
    });
    this.recorder = new EventRecorder({ client, nodeName, log, signal, now });
    this.condition = interferenceCondition({
      client,
      nodeName,
      log,
      signal,
      now,
      state: () => this.interference,
    });
  }

  get nodeName(): string {
    return this.parts.nodeName;
  }

  /** Runs until the signal is aborted; never rejects. */
  async run(): Promise<void> {
    await Promise.all([this.objects.run(), this.node.follow()]);
  }

  /**
   * A pod by the uid that the runtime knows it by; undefined when the API server has no such pod, as far as is known.
   */
  findPod(runtimeUid: string): QosPod | undefined {
    this.byRuntimeUid ??= new Map(this.pods.map((pod) => [pod.runtimeUid, pod]));
    return this.byRuntimeUid.get(runtimeUid);
  }

  /** The pods of this node, by the last news of the API server. */
  get pods(): readonly QosPod[] {
    return this.objects.pods.objects;
  }

  /** The lent resources that pods of this node hold; nothing is said before the first complete list. */
  get held(): PublishedResources {
    const { isSynced, objects } = this.objects.pods;
    return isSynced ? heldBy(objects, this.state?.lent ?? {}) : {};
  }

  get prediction(): TimeSeriesPrediction | undefined {
    return this.objects.predictions.objects[0];
  }

  /** Our Node as last seen; undefined when there is none, or it can't be read. */
  get nodeState(): QosNodeState | undefined {
    return this.state;
  }

  /** The objects that rules depend on; unknown as long as one kind has no news. */
  get rules(): ObjectsOfNode {
    const { nodeQos, podQos, actions, pods } = this.objects;
    for (const followed of [nodeQos, actions, podQos, pods]) {
      const because = reasonToDoubt(followed);
      if (because !== undefined) return { kind: 'unknown', because };
    }
    if (!this.state)
      return { kind: 'unknown', because: `the API server has not told of the Node ${this.parts.nodeName}` };
    return {
      kind: 'known',
      nodeQoss: nodeQos.objects,
      podQoss: podQos.objects,
      actions: new Map(actions.objects.map((action) => [action.name, action])),
      pods: pods.objects,
      nodeLabels: this.state.labels,
    };
  }

  isMarked(): boolean | undefined {
    return this.state?.isTainted;
  }

  async mark(isDisabled: boolean, because: string): Promise<void> {
    const { client, nodeName } = this.parts;
    try {
      await setInterferenceTaint(client, nodeName, isDisabled);
    } catch (error) {
      for (const right of TAINT_NODE) this.rights.note(error, right);
      throw error;
    }
    const reason = isDisabled ? 'RuleTriggered' : 'NoInterference';
    this.interference = { isIdentified: isDisabled, reason, message: because };
    try {
      await this.condition.flush();
    } catch (error) {
      // It tries again by itself while cpusetd runs. A condition that must not be written is not there.
      this.condition.touch();
      if (!isDisabled && !isForbidden(error)) throw error;
    }
  }

  async evict({ uid, namespace, name }: StepPod, graceSeconds: number | undefined): Promise<EvictionOutcome> {
    const grace = graceSeconds !== undefined && { graceSeconds };
    const outcome = await evictPod(this.parts.client, { uid, namespace, name, ...grace });
    if (outcome.kind !== 'failed') return outcome;
    this.rights.note(outcome.error, EVICT_PODS);
    if (isRefusal(outcome.error)) return { kind: 'refused', because: outcome.because };
    throw new Error(outcome.because, { cause: outcome.error });
  }

  /** Writes an Event about the Node. Never waits, never throws. */
  writeEvent({ type, reason, message }: AvoidanceEvent): void {
    this.recorder.record({ node: this.parts.nodeName, type, reason, message });
  }

  /** Writes an Event about a pod. Never waits, never throws. */
  writePodEvent(event: PodActionEvent): void {
    this.recorder.record(event);
  }

  /** Reads the Node anew. Rejects with KubeError. */
  async readNode(): Promise<NodeReading> {
    const { client, nodeName } = this.parts;
    return toNodeState(await client.send({ method: 'GET', path: `/api/v1/nodes/${nodeName}` }));
  }

  /** Rejects with KubeError. */
  lend(wanted: PublishedResources): Promise<void> {
    return writeElasticResources(this.parts.client, this.parts.nodeName, wanted);
  }

  private takeNode(object: unknown): void {
    const before = this.state;
    this.state = object === undefined ? undefined : toNodeState(object);
    if (!this.state || (before && isDeepStrictEqual(identityOf(before), identityOf(this.state)))) return;
    this.predicting?.onNode(object);
  }

  /** A pod without an identity can't be acted on. */
  private readPod(object: unknown): QosPod | undefined {
    const parsed = parseQosPod(object);
    if (parsed.ok) return parsed.value;
    if (this.unreadPod.isNew(parsed.because))
      this.parts.log.warn({ because: parsed.because }, 'an object of the API server is not followed');
    return undefined;
  }

  /** A rule or an action that was refused does nothing: an alarm for each kind, until it is corrected or removed. */
  private showRefused(): void {
    const { nodeQos, podQos, actions } = this.objects;
    for (const [kind, { refused }] of Object.entries({ NodeQOS: nodeQos, PodQOS: podQos, AvoidanceAction: actions })) {
      const more = refused.length > MAX_NAMED ? [`and ${refused.length - MAX_NAMED} more`] : [];
      const because = [...refused.slice(0, MAX_NAMED), ...more].join('; ');
      this.parts.alarms.update('qos-object-refused', kind, because === '' ? undefined : because);
    }
  }
}

/** The part of a Node that is no figure. */
function identityOf({ uid, labels, annotations, addresses }: QosNodeState): unknown {
  return { uid, labels, annotations, addresses };
}

/** The API server has answered that it does not carry the request out. */
function isRefusal(error: unknown): boolean {
  return error instanceof KubeError && error.status >= 400 && error.status < 500;
}

function isForbidden(error: unknown): boolean {
  return error instanceof KubeError && error.status === 403;
}

/** The reason for not relying on objects of a kind now; undefined when they can. */
function reasonToDoubt({ isSynced, isDefined, reason, newsAgeMs }: Followed<unknown>): string | undefined {
  if (!isDefined) return reason;
  if (!isSynced || newsAgeMs === undefined)
    return `no news from the API server: ${reason || 'it has not answered yet'}`;
  return newsAgeMs > OBJECTS_LAST_MS
    ? `no news from the API server for ${Math.round(newsAgeMs / 1000)} s: ${reason}`
    : undefined;
}
