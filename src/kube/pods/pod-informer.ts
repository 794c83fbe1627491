import type { Logger } from 'pino';
import type { PodSpec } from '../../core/model/pod-spec';
import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { Reflector } from '../api/reflector';
import { logFirstUnread } from '../api/unread-objects';
import { asObject, resourceVersionOf } from '../json';
import { toWatchedPod, type WatchedPod } from './to-pod-spec';

/** Receives the pods. Each call has a turn of the event loop of its own. */
export interface PodSink {
  /** All pods of the node; called only with a complete list of the API server. */
  onList(pods: readonly PodSpec[]): void;
  /** A pod was added or changed. */
  onPod(pod: PodSpec): void;
  /** A pod was deleted. */
  onGone(uid: string): void;
}

export interface PodInformerParts {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly sink: PodSink;
  /** `because`: the reason for `connecting`, for the operator. */
  readonly onState: (state: 'connecting' | 'ready', because: string) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** For tests: maximum time until a server begins to answer. */
  readonly answerMs?: number;
}

const PATH = '/api/v1/pods';

/**
 * Follows the pods of one node. While the API server is away nothing is reported, and the known pods stay.
 */
export class PodInformer {
  private readonly reflector: Reflector;
  private readonly fieldSelector: string;
  private readonly onUnread: (because: string) => void;
  /** By namespace and name; undefined before the first complete list. */
  private known: Map<string, Kept> | undefined;

  constructor(private readonly parts: PodInformerParts) {
    const { client, signal, nodeName, onState, answerMs } = parts;
    this.fieldSelector = `spec.nodeName=${nodeName}`;
    this.onUnread = logFirstUnread(parts.log, PATH);
    this.reflector = new Reflector({
      client,
      signal,
      path: PATH,
      fieldSelector: this.fieldSelector,
      list: () => this.list(),
      onOpen: () => onState('ready', ''),
      onEvent: (type, object) => this.take(type, object),
      onUnread: this.onUnread,
      onFailure: (error, _during, waitMs) => this.noteFailure(error, waitMs),
      canResume: true,
      ...(answerMs !== undefined && { answerMs }),
    });
  }

  start(): void {
    const { onState, log } = this.parts;
    onState('connecting', '');
    this.reflector.run().catch((error: unknown) => log.error({ err: error }, 'following the pods has ended'));
  }

  /** The last reported pods; undefined before the first complete list. */
  get pods(): readonly WatchedPod[] | undefined {
    return this.known && [...this.known.values()].map(({ pod }) => pod);
  }

  private async list(): Promise<string> {
    const { client, sink } = this.parts;
    const { onUnread } = this;
    const listed = new Map<string, Kept>();
    const onItem = (item: unknown): void => {
      const kept = keep(item);
      if (kept) listed.set(keyOf(kept.pod.spec), kept);
    };
    // Without a resourceVersion the list is the newest. An older one might miss a pod that runs here already.
    const query = { fieldSelector: this.fieldSelector };
    const answer = asObject(
      await client.send({ method: 'GET', path: PATH, query, timeoutMs: 30_000, onItem, onUnread }),
    );
    if (!Array.isArray(answer['items']))
      throw new KubeError('the API server answered with something that is no list of pods', 0);
    this.known = listed;
    this.guard(() => sink.onList([...listed.values()].map(({ pod }) => pod.spec)));
    return resourceVersionOf(answer);
  }

  private take(type: string, object: unknown): void {
    const { known, parts } = this;
    const kept = keep(object);
    if (!kept || !known) return;
    const { spec } = kept.pod;
    const key = keyOf(spec);
    const before = known.get(key);
    if (type === 'DELETED') {
      if (known.delete(key)) this.guard(() => parts.sink.onGone(spec.uid));
    } else if (before?.version !== kept.version) {
      known.set(key, kept);
      this.guard(() => {
        if (before && before.pod.spec.uid !== spec.uid) parts.sink.onGone(before.pod.spec.uid);
        parts.sink.onPod(spec);
      });
    }
  }

  /** An error of the sink is logged, and the watch goes on. */
  private guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.parts.log.error({ err: error }, 'taking over pods of the API server failed');
    }
  }

  private noteFailure(error: unknown, waitMs: number): number {
    const { log, client, onState } = this.parts;
    client.forgetConfig();
    const because = explainKubeError(error);
    log.debug({ because, waitMs }, 'no news of pods; asking again');
    onState('connecting', because);
    return waitMs;
  }
}

interface Kept {
  readonly version: string;
  readonly pod: WatchedPod;
}

/** Undefined for an object that is no pod. */
function keep(object: unknown): Kept | undefined {
  const pod = toWatchedPod(object);
  return pod && { version: resourceVersionOf(object), pod };
}

function keyOf({ namespace, name }: PodSpec): string {
  return `${namespace}/${name}`;
}
