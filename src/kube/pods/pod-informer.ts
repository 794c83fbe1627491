import { ListWatch } from '../client-library';
import type { Logger } from 'pino';
import type { PodSpec } from '../../core/model/pod-spec';
import { BackOff } from '../../net/back-off';
import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { asObject, asString } from '../json';
import { PacedWatch } from './watch-with-deadlines';
import { toWatchedPod, type WatchedPod } from './to-pod-spec';

/** Who wants to know of pods. Calls come one after the other, each a turn of its own. */
export interface PodSink {
  /** All pods of the node. Only told when the API server gave a complete list. */
  onList(pods: readonly PodSpec[]): void;
  /** A pod came, or something of it changed. */
  onPod(pod: PodSpec): void;
  /** The API server has it no more. */
  onGone(uid: string): void;
}

export interface PodInformerParts {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly sink: PodSink;
  /** `because`: why it is not ready, for the operator. */
  readonly onState: (state: 'connecting' | 'ready', because: string) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** For tests: how long a server may take to begin to answer. */
  readonly answerMs?: number;
}

/** What is kept of a pod. `metadata` is what the library goes by. */
interface Kept {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
  readonly pod: WatchedPod | undefined;
}

const PATH = '/api/v1/pods';
/** Between five and ten minutes, as Kubernetes' own clients do, so that nodes do not come back in step. */
const LEAST_LIFE_S = 300;

/**
 * Follows the pods of one node: a list, then a watch from there on. Resuming, bookmarks and lists anew after 410 are the
 * library's. While the API server is away nothing is told: what was known stays known.
 */
export class PodInformer {
  private readonly informer: ListWatch<Kept>;
  private readonly uids = new Map<string, string>();
  private readonly backOff = new BackOff({ leastMs: 500, mostMs: 30_000 });
  private hasFreshList = false;
  private synced = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: PodInformerParts) {
    const { client, signal, nodeName, answerMs } = parts;
    const lifeS = LEAST_LIFE_S + Math.floor(Math.random() * LEAST_LIFE_S);
    const fieldSelector = `spec.nodeName=${nodeName}`;
    const watch = new PacedWatch({
      client,
      signal,
      onBegin: () => this.tellList(),
      onOpen: () => this.becomeReady(),
      reduce: keep,
      lifeMs: lifeS * 1000,
      ...(answerMs !== undefined && { answerMs }),
    });
    this.informer = new ListWatch(
      // The library adds to the query what it needs; bookmarks and the watch's life are for its user to ask for.
      `${PATH}?allowWatchBookmarks=true&timeoutSeconds=${lifeS}`,
      watch,
      () => this.list(fieldSelector),
      false,
      undefined,
      fieldSelector,
    );
    this.informer.on('add', ({ pod }) => this.tell(pod));
    this.informer.on('update', ({ pod }) => this.tell(pod));
    this.informer.on('delete', ({ pod }) => this.tellGone(pod));
    this.informer.on('error', (error: unknown) => this.restart(error));
    signal.addEventListener('abort', () => this.stop(), { once: true });
  }

  start(): void {
    this.parts.onState('connecting', '');
    this.begin();
  }

  /** The pods as of the last that was heard; undefined before the first complete list. */
  get pods(): readonly WatchedPod[] | undefined {
    return this.synced ? this.informer.list().flatMap(({ pod }) => pod ?? []) : undefined;
  }

  private begin(): void {
    this.informer.start().catch((error: unknown) => this.restart(error));
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.informer
      .stop()
      .catch((error: unknown) => this.parts.log.debug({ err: error }, 'the watch of pods did not end'));
  }

  private async list(fieldSelector: string) {
    const { client } = this.parts;
    // Without a resourceVersion: the newest there is. An older list might miss a pod that runs here already.
    const items: Kept[] = [];
    const onItem = (item: unknown): unknown => items.push(keep(item));
    const answer = asObject(
      await client.send({ method: 'GET', path: PATH, query: { fieldSelector }, timeoutMs: 30_000, onItem }),
    );
    if (!Array.isArray(answer['items']))
      throw new KubeError('the API server answered with something that is no list of pods', 0);
    this.hasFreshList = true;
    return {
      metadata: { resourceVersion: asString(asObject(answer['metadata'])['resourceVersion']) },
      items,
    };
  }

  private tellList(): void {
    if (!this.hasFreshList) return;
    this.hasFreshList = false;
    this.synced = true;
    const pods = this.pods ?? [];
    this.uids.clear();
    for (const { spec } of pods) this.uids.set(keyOf(spec), spec.uid);
    this.guard(() => this.parts.sink.onList(pods.map(({ spec }) => spec)));
  }

  private becomeReady(): void {
    this.backOff.reset();
    this.parts.onState('ready', '');
  }

  /** Single pods of a list that is being taken over are told with the whole. */
  private tell(pod: WatchedPod | undefined): void {
    if (this.hasFreshList || !pod) return;
    const { spec } = pod;
    const before = this.uids.get(keyOf(spec));
    this.uids.set(keyOf(spec), spec.uid);
    this.guard(() => {
      if (before !== undefined && before !== spec.uid) this.parts.sink.onGone(before);
      this.parts.sink.onPod(spec);
    });
  }

  private tellGone(pod: WatchedPod | undefined): void {
    if (this.hasFreshList || !pod) return;
    this.uids.delete(keyOf(pod.spec));
    this.guard(() => this.parts.sink.onGone(pod.spec.uid));
  }

  /** What fails in the sink is a fault of ours; the watch goes on. */
  private guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.parts.log.error({ err: error }, 'taking over what the API server told failed');
    }
  }

  private restart(error: unknown): void {
    const { signal, log, client, onState } = this.parts;
    if (signal.aborted) return;
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === undefined || statusCode === 401) client.forgetConfig();
    const because = explainKubeError(error);
    const waitMs = this.backOff.next(error instanceof KubeError ? error.retryAfterMs : undefined);
    log.debug({ because, waitMs }, 'no news of pods; asking again');
    onState('connecting', because);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.begin(), waitMs);
  }
}

function keyOf({ namespace, name }: PodSpec): string {
  return `${namespace}/${name}`;
}

function keep(object: unknown): Kept {
  const meta = asObject(asObject(object)['metadata']);
  return {
    metadata: {
      name: asString(meta['name']),
      namespace: asString(meta['namespace']),
      resourceVersion: asString(meta['resourceVersion']),
    },
    pod: toWatchedPod(object),
  };
}
