import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { AvoidanceAction, NodeQos, PodQos, QosPod } from '../../qos/objects/objects';
import { predictionNameOf, TEMPLATE } from '../../qos/prediction/prediction-spec';
import type { KubeClient } from '../api/kube-client';
import { CollectionInformer } from '../collection/collection-informer';
import { PREDICTION, PREDICTIONS } from './prediction-object';

/** Readers of the objects; undefined leaves an object out. Pure. A collection without a reader is not followed. */
export interface ObjectReaders<Prediction> {
  readonly nodeQos?: (object: unknown) => NodeQos | undefined;
  readonly podQos?: (object: unknown) => PodQos | undefined;
  readonly action?: (object: unknown) => AvoidanceAction | undefined;
  readonly prediction?: (object: unknown) => Prediction | undefined;
  /** Of the ConfigMap that says what is to be predicted. */
  readonly template?: (object: unknown) => string | undefined;
  readonly pod?: (object: unknown) => QosPod | undefined;
}

export interface QosObjectsParts<Prediction> {
  readonly client: Pick<KubeClient, 'send' | 'watch'>;
  readonly nodeName: string;
  readonly readers: ObjectReaders<Prediction>;
  /** Something has changed. */
  readonly onChange?: () => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The pause before the API server is asked again for a kind that it does not know. */
  readonly unknownMs?: number;
  /** For tests: maximum time until a server begins to answer. */
  readonly answerMs?: number;
}

/** The objects of one collection, and how current they are. */
export interface Followed<T> {
  /** By name. None while the cluster does not have the kind. */
  readonly objects: readonly T[];
  /** True after the first complete list. */
  readonly isSynced: boolean;
  /** False = the cluster does not have the kind. */
  readonly isDefined: boolean;
  /** The reason for having no news now, for the operator; empty while the API server sends changes. */
  readonly reason: string;
  /** Milliseconds since the API server last sent news: 0 while it sends changes, undefined before the first complete list. */
  readonly newsAgeMs: number | undefined;
}

const UNKNOWN_MS = 60_000;
const ENSURANCE = 'ensurance.crane.io/v1alpha1';

/** Follows Crane's rules and actions, the prediction for this node, and the pods of this node. While the API server is away the known objects stay. */
export class QosObjects<Prediction> {
  private readonly nodeQosInformer: CollectionInformer<NodeQos> | undefined;
  private readonly podQosInformer: CollectionInformer<PodQos> | undefined;
  private readonly actionInformer: CollectionInformer<AvoidanceAction> | undefined;
  private readonly predictionInformer: CollectionInformer<Prediction> | undefined;
  private readonly templateInformer: CollectionInformer<string> | undefined;
  private readonly podInformer: CollectionInformer<QosPod> | undefined;

  constructor(private readonly parts: QosObjectsParts<Prediction>) {
    const { readers, nodeName } = parts;
    const ofGroup = (plural: string, kind: string) => ({
      path: `/apis/${ENSURANCE}/${plural}`,
      whenUnknown: explainUnknown(kind, ENSURANCE),
    });
    this.nodeQosInformer = this.follow(readers.nodeQos, ofGroup('nodeqoss', 'NodeQOS'));
    this.podQosInformer = this.follow(readers.podQos, ofGroup('podqoss', 'PodQOS'));
    this.actionInformer = this.follow(readers.action, ofGroup('avoidanceactions', 'AvoidanceAction'));
    this.predictionInformer = this.follow(readers.prediction, {
      path: PREDICTIONS,
      fieldSelector: `metadata.name=${predictionNameOf(nodeName)}`,
      whenUnknown: explainUnknown('TimeSeriesPrediction', PREDICTION),
    });
    this.templateInformer = this.follow(readers.template, {
      path: `/api/v1/namespaces/${TEMPLATE.namespace}/configmaps`,
      fieldSelector: `metadata.name=${TEMPLATE.name}`,
    });
    this.podInformer = this.follow(readers.pod, { path: '/api/v1/pods', fieldSelector: `spec.nodeName=${nodeName}` });
  }

  /** Runs until the signal aborts; never rejects. */
  async run(): Promise<void> {
    const informers = [
      ...[this.nodeQosInformer, this.podQosInformer, this.actionInformer],
      ...[this.predictionInformer, this.templateInformer, this.podInformer],
    ];
    await Promise.all(informers.flatMap((informer) => (informer ? [informer.run()] : [])));
  }

  get nodeQos(): Followed<NodeQos> {
    return show(this.nodeQosInformer);
  }

  get podQos(): Followed<PodQos> {
    return show(this.podQosInformer);
  }

  get actions(): Followed<AvoidanceAction> {
    return show(this.actionInformer);
  }

  /** At most one: the prediction for this node. */
  get predictions(): Followed<Prediction> {
    return show(this.predictionInformer);
  }

  /** At most one: the template of predictions. */
  get templates(): Followed<string> {
    return show(this.templateInformer);
  }

  get pods(): Followed<QosPod> {
    return show(this.podInformer);
  }

  private follow<T>(
    reduce: ((object: unknown) => T | undefined) | undefined,
    collection: { readonly path: string; readonly fieldSelector?: string; readonly whenUnknown?: string },
  ): CollectionInformer<T> | undefined {
    if (reduce === undefined) return undefined;
    const { client, log, signal, onChange, unknownMs = UNKNOWN_MS, answerMs } = this.parts;
    return new CollectionInformer<T>({
      ...{ client, log, signal, reduce, unknownMs },
      ...collection,
      ...(answerMs !== undefined && { answerMs }),
      isSame: isDeepStrictEqual,
      onChange: () => onChange?.(),
      onDelete: () => onChange?.(),
      onListed: () => onChange?.(),
    });
  }
}

function explainUnknown(kind: string, apiVersion: string): string {
  return `the API server does not know ${kind} of ${apiVersion} (404): apply its definition from deploy/crds`;
}

function show<T>(informer: CollectionInformer<T> | undefined): Followed<T> {
  if (!informer)
    return { objects: [], isSynced: false, isDefined: true, reason: 'it is not followed', newsAgeMs: undefined };
  const { isSynced, isDefined, reason, newsAgeMs } = informer;
  const byName = isDefined ? [...informer.entries()].sort(([one], [other]) => (one < other ? -1 : 1)) : [];
  return { objects: byName.map(([, entry]) => entry), isSynced, isDefined, reason, newsAgeMs };
}
