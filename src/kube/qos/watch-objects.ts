import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { AvoidanceAction, NodeQos, PodQos, QosPod } from '../../qos/objects/objects';
import { predictionNameOf, TEMPLATE } from '../../qos/prediction/prediction-spec';
import type { KubeClient } from '../api/kube-client';
import { CollectionInformer } from '../collection/collection-informer';
import type { Parsed } from './field';
import { PREDICTION, PREDICTIONS } from './prediction-object';

/**
 * Readers of the objects. Pure. Undefined leaves an object out; a rule that can't be understood is refused with the
 * reason. A collection without a reader is not followed.
 */
export interface ObjectReaders<Prediction> {
  readonly nodeQos?: (object: unknown) => Parsed<NodeQos>;
  readonly podQos?: (object: unknown) => Parsed<PodQos>;
  readonly action?: (object: unknown) => Parsed<AvoidanceAction>;
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
  /** The reasons for objects that are there and were refused, by name of the object. */
  readonly refused: readonly string[];
  /** True after the first complete list. */
  readonly isSynced: boolean;
  /** False = the cluster does not have the kind. */
  readonly isDefined: boolean;
  /** The reason for having no news now, for the operator; empty while the API server sends changes. */
  readonly reason: string;
  /**
   * Milliseconds since the API server last sent news: 0 while it sends changes, undefined before the first complete
   * list.
   */
  readonly newsAgeMs: number | undefined;
}

const UNKNOWN_MS = 60_000;
const ENSURANCE = 'ensurance.crane.io/v1alpha1';

/**
 * Follows Crane's rules and actions, the prediction for this node, and the pods of this node. While the API server is
 * away the known objects stay.
 */
export class QosObjects<Prediction> {
  private readonly nodeQosInformer: CollectionInformer<Parsed<NodeQos>> | undefined;
  private readonly podQosInformer: CollectionInformer<Parsed<PodQos>> | undefined;
  private readonly actionInformer: CollectionInformer<Parsed<AvoidanceAction>> | undefined;
  private readonly predictionInformer: CollectionInformer<Parsed<Prediction>> | undefined;
  private readonly templateInformer: CollectionInformer<Parsed<string>> | undefined;
  private readonly podInformer: CollectionInformer<Parsed<QosPod>> | undefined;

  constructor(private readonly parts: QosObjectsParts<Prediction>) {
    const { readers, nodeName } = parts;
    const ofGroup = (plural: string, kind: string) => ({
      path: `/apis/${ENSURANCE}/${plural}`,
      whenUnknown: explainUnknown(kind, ENSURANCE),
    });
    this.nodeQosInformer = this.follow(readers.nodeQos, ofGroup('nodeqoss', 'NodeQOS'));
    this.podQosInformer = this.follow(readers.podQos, ofGroup('podqoss', 'PodQOS'));
    this.actionInformer = this.follow(readers.action, ofGroup('avoidanceactions', 'AvoidanceAction'));
    this.predictionInformer = this.follow(orLeftOut(readers.prediction), {
      path: PREDICTIONS,
      fieldSelector: `metadata.name=${predictionNameOf(nodeName)}`,
      whenUnknown: explainUnknown('TimeSeriesPrediction', PREDICTION),
    });
    this.templateInformer = this.follow(orLeftOut(readers.template), {
      path: `/api/v1/namespaces/${TEMPLATE.namespace}/configmaps`,
      fieldSelector: `metadata.name=${TEMPLATE.name}`,
    });
    this.podInformer = this.follow(orLeftOut(readers.pod), {
      path: '/api/v1/pods',
      fieldSelector: `spec.nodeName=${nodeName}`,
    });
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
    reduce: ((object: unknown) => Parsed<T> | undefined) | undefined,
    collection: { readonly path: string; readonly fieldSelector?: string; readonly whenUnknown?: string },
  ): CollectionInformer<Parsed<T>> | undefined {
    if (reduce === undefined) return undefined;
    const { client, log, signal, onChange, unknownMs = UNKNOWN_MS, answerMs } = this.parts;
    return new CollectionInformer<Parsed<T>>({
      client,
      log,
      signal,
      reduce,
      unknownMs,
      ...collection,
      ...(answerMs !== undefined && { answerMs }),
      isSame: isDeepStrictEqual,
      onChange: () => onChange?.(),
      onDelete: () => onChange?.(),
      onUndefined: () => onChange?.(),
      onListed: () => onChange?.(),
    });
  }
}

function explainUnknown(kind: string, apiVersion: string): string {
  return `the API server does not know ${kind} of ${apiVersion} (404): apply its definition from deploy/crds`;
}

const NOTHING = { objects: [], refused: [] } as const;

/** The reader, for objects that are not refused. */
function orLeftOut<T>(
  read: ((object: unknown) => T | undefined) | undefined,
): ((object: unknown) => Parsed<T> | undefined) | undefined {
  if (!read) return undefined;
  return (object) => {
    const value = read(object);
    return value === undefined ? undefined : { ok: true, value };
  };
}

function show<T>(informer: CollectionInformer<Parsed<T>> | undefined): Followed<T> {
  if (!informer)
    return { ...NOTHING, isSynced: false, isDefined: true, reason: 'it is not followed', newsAgeMs: undefined };
  const { isSynced, isDefined, reason, newsAgeMs } = informer;
  const byName = isDefined ? [...informer.entries()].sort(([a], [b]) => (a < b ? -1 : 1)) : [];
  const objects = byName.flatMap(([, parsed]) => (parsed.ok ? [parsed.value] : []));
  const refused = byName.flatMap(([, parsed]) => (parsed.ok ? [] : [parsed.because]));
  return { objects, refused, isSynced, isDefined, reason, newsAgeMs };
}
