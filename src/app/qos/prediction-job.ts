import { isDeepStrictEqual } from 'node:util';
import type { Followed, KubeClient, Right, StoredPrediction } from '../../kube';
import {
  ASK_FOR_PREDICTION,
  createPrediction,
  explainKubeError,
  KubeError,
  MissingRights,
  patchPrediction,
  toNodeIdentity,
} from '../../kube';
import { BackOff } from '../../net/back-off';
import { LastProblem } from '../../net/connection-state';
import { EarliestTimer } from '../../net/earliest-timer';
import { predictionNameOf, TEMPLATE, toPredictionSpec } from '../../qos/prediction/prediction-spec';
import { renderTemplate } from '../../qos/prediction/render-template';
import type { DaemonContext } from '../context';
import { RivalPauses } from './rival-pauses';

export interface PredictionJobParts {
  readonly context: Pick<DaemonContext, 'alarms' | 'faults' | 'log'>;
  readonly client: Pick<KubeClient, 'send'>;
  readonly nodeName: string;
  /** The template, and the object for our Node, by the last news of the API server. */
  readonly template: () => Followed<string>;
  readonly stored: () => Followed<StoredPrediction>;
  readonly signal: AbortSignal;
  /** Changes within this time are taken as one. */
  readonly debounceMs?: number;
}

/** A template with our Node in it; without `spec` it can't be used. */
interface Rendered {
  readonly template: string;
  readonly uid: string;
  readonly spec?: JsonObject;
}

type JsonObject = Readonly<Record<string, unknown>>;

const DEBOUNCE_MS = 100;
/** The pause after an answer that only an administrator can change. */
const NOT_ALLOWED_MS = 60_000;

/**
 * Asks Crane's predictor for a prediction of this node: keeps the TimeSeriesPrediction for our Node as the template of
 * the cluster says. Without a template nothing is written. A template that can't be used is an alarm, and the object
 * stays as it is. Nothing is deleted. Against another writer of the object the pauses grow.
 */
export class PredictionJob {
  private readonly backOff = new BackOff({ leastMs: 500, mostMs: 30_000 });
  private readonly problem = new LastProblem();
  private readonly rights: MissingRights;
  private readonly timer: EarliestTimer;
  private wanted: Rendered | undefined;
  /** Ends when the Node of the last change is in `wanted`. */
  private rendering: Promise<void> = Promise.resolve();
  /** The right that the last request needed. */
  private right: Right = ASK_FOR_PREDICTION.get;
  /** The last write: a definition that drops or adds fields must not cause another one. */
  private written: { readonly spec: JsonObject; readonly stored: string } | undefined;
  private readonly rival = new RivalPauses();
  private hasLoggedRival = false;

  constructor(private readonly parts: PredictionJobParts) {
    this.rights = new MissingRights(parts.context.log);
    this.timer = new EarliestTimer(
      () => parts.context.faults.containAsync('asking for a prediction', () => this.run()),
      parts.signal,
    );
  }

  /** The template or the object may have changed. Never waits, never throws. */
  touch(): void {
    if (!this.problem.isSet) this.timer.startIn(this.parts.debounceMs ?? DEBOUNCE_MS);
  }

  /** The Node has changed: the template is rendered with it. Never waits, never throws. */
  onNode(node: unknown): void {
    const template = this.wanted?.template;
    if (template === undefined) return;
    this.rendering = this.parts.context.faults.containAsync('asking for a prediction', async () => {
      this.wanted = await this.render(template, node);
      this.touch();
    });
  }

  private async run(): Promise<void> {
    const { log } = this.parts.context;
    try {
      await this.ask();
      this.backOff.reset();
      if (this.problem.clear()) log.info('the prediction of this node can be asked for again');
    } catch (error) {
      if (this.parts.signal.aborted) return;
      const isRight = this.rights.note(error, this.right);
      const because = explainKubeError(error);
      if (this.problem.isNew(because) && !isRight)
        log.warn({ because }, 'the prediction of this node can’t be asked for; trying again');
      const needsAdmin = error instanceof KubeError && [401, 403, 422].includes(error.status);
      this.timer.restartIn(this.backOff.next(needsAdmin ? NOT_ALLOWED_MS : 0));
    }
  }

  private async ask(): Promise<void> {
    await this.rendering;
    const { client, nodeName, context } = this.parts;
    const [template, stored] = [this.parts.template(), this.parts.stored()];
    if (!template.isSynced || !stored.isSynced) return;
    const [text] = template.objects;
    const [object] = stored.objects;
    if (text === undefined || !stored.isDefined) {
      this.wanted = undefined;
      context.alarms.clear('prediction-template', '');
      return;
    }
    if (this.wanted?.template !== text) this.wanted = await this.render(text, await this.readNode());
    const { uid, spec } = this.wanted;
    if (!spec) return;
    const isAsWanted = isDeepStrictEqual(this.written?.spec, spec);
    const isAsWritten = object !== undefined && this.written?.stored === object.spec;
    if (!isAsWanted) this.rival.forget();
    else if (isAsWritten) this.rival.rest();
    else if (!this.mayAnswer(object)) return;
    if (isAsWanted && isAsWritten) return;
    this.right = ASK_FOR_PREDICTION[object ? 'patch' : 'create'];
    const now = object
      ? await patchPrediction(client, nodeName, object, spec)
      : await createPrediction(client, { name: nodeName, uid, labels: {} }, spec);
    if (!now) return;
    if (isAsWanted) this.noteAnswer(object);
    this.written = { spec, stored: now.spec };
    context.log.info({ isNew: object === undefined }, 'Crane’s predictor is asked for a prediction of this node');
  }

  /** True when the pause is over after which an object that somebody else has changed or deleted is put right. */
  private mayAnswer(object: StoredPrediction | undefined): boolean {
    const waitMs = this.rival.waitMs(object ? 'changed' : 'gone');
    if (waitMs > 0) this.timer.startIn(waitMs);
    return waitMs === 0;
  }

  /**
   * Warns once of a rival, until it is quiet for long. That the object was deleted once is no rival: an operator may
   * have done it.
   */
  private noteAnswer(object: StoredPrediction | undefined): void {
    const isFirst = this.rival.noteAnswer() === 1;
    if (isFirst) this.hasLoggedRival = false;
    if (this.hasLoggedRival || (isFirst && !object)) return;
    this.hasLoggedRival = true;
    this.parts.context.log.warn(
      { timeSeriesPrediction: predictionNameOf(this.parts.nodeName) },
      object
        ? 'somebody else changes the spec of the prediction of this node; it is put right, with growing pauses: does Crane’s agent still run here?'
        : 'somebody else deletes the prediction of this node; it is made anew, with growing pauses: to end it, set node-resource-prediction: off',
    );
  }

  private readNode(): Promise<unknown> {
    const { client, nodeName } = this.parts;
    this.right = ASK_FOR_PREDICTION.get;
    return client.send({ method: 'GET', path: `/api/v1/nodes/${nodeName}` });
  }

  private async render(template: string, node: unknown): Promise<Rendered> {
    const { nodeName, context } = this.parts;
    const { uid } = toNodeIdentity(node);
    try {
      const { readFirstDocument } = await import('../../files/parse-yaml');
      const { value } = readFirstDocument(renderTemplate(template, node));
      const spec = toPredictionSpec(value, nodeName);
      context.alarms.clear('prediction-template', '');
      return { template, uid, spec };
    } catch (error) {
      const { namespace, name, key } = TEMPLATE;
      const because = `${key} of the ConfigMap ${namespace}/${name}: ${error instanceof Error ? error.message : String(error)}`;
      context.alarms.update('prediction-template', '', because);
      return { template, uid };
    }
  }
}
