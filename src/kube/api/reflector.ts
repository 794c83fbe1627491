import { BackOff } from '../../net/back-off';
import { pause } from '../../net/pause';
import { resourceVersionOf } from '../json';
import type { KubeClient } from './kube-client';
import { KubeError } from './kube-error';

export interface ReflectorParts {
  readonly client: Pick<KubeClient, 'watch'>;
  readonly signal: AbortSignal;
  /** The collection that is watched. */
  readonly path: string;
  readonly fieldSelector?: string;
  /** The wanted content type; `application/json` by default. */
  readonly accept?: string;
  /** Reads the whole collection and resolves with the resource version to watch from. */
  readonly list: () => Promise<string>;
  /**
   * The server sends changes. After a watch that came to nothing this is reported when it has sent one, or the watch
   * has lasted.
   */
  readonly onOpen: () => void;
  /** `type`: ADDED, MODIFIED or DELETED. */
  readonly onEvent: (type: string, object: unknown) => void;
  /** The object of an event is left out, since it has more in it than is read. */
  readonly onUnread: (because: string) => void;
  /** Gets the error of `list` or of the watch. Returns the milliseconds until the next try; `waitMs` is proposed. */
  readonly onFailure: (error: unknown, during: 'list' | 'watch', waitMs: number) => number;
  /** False = a list precedes every watch. */
  readonly canResume: boolean;
  /** Maximum time until a server begins to answer a watch. */
  readonly answerMs?: number;
}

/** A watch that lasted this time counts as a success. */
const REAL_MS = 5_000;
/**
 * The server ends a watch after five to ten minutes, as Kubernetes' own clients ask for, so that nodes do not reconnect
 * in step.
 */
const MIN_LIFE_S = 300;

/**
 * Follows a collection of the API server: a list, then a watch from its version. A watch that ends is resumed from the
 * last version received; a version that is too old (410 Gone) leads to a new list. Failures and watches that end at
 * once are followed by growing pauses. A watch that failed soon, without a change, came to nothing: the opening of the
 * next one is then no proof that changes come.
 */
export class Reflector {
  private readonly failures = new BackOff({ leastMs: 500, mostMs: 30_000 });
  private readonly shortWatches = new BackOff({ leastMs: 500, mostMs: 10_000 });
  private readonly lifeS = MIN_LIFE_S + Math.floor(Math.random() * MIN_LIFE_S);
  /** The last watch came to nothing. */
  private isDoubted = false;
  /** The last version received; empty = a list comes next. */
  private version = '';

  constructor(private readonly parts: ReflectorParts) {}

  /** Runs until the signal aborts; never rejects. */
  async run(): Promise<void> {
    const { signal } = this.parts;
    while (!signal.aborted) await pause(await this.follow(), signal);
  }

  /** Makes one list, if needed, and one watch. Resolves with the milliseconds until the next. */
  private async follow(): Promise<number> {
    const { list, onFailure, signal, canResume } = this.parts;
    let during: 'list' | 'watch' = 'list';
    let begunMs = 0;
    try {
      if (this.version === '') this.version = await list();
      if (signal.aborted) return 0;
      during = 'watch';
      begunMs = performance.now();
      await this.watchOnce();
    } catch (error) {
      if (signal.aborted) return 0;
      if (during === 'watch' && !canResume) this.version = '';
      if (during === 'list' || !isGone(error)) {
        const retryAfterMs = error instanceof KubeError ? error.retryAfterMs : undefined;
        return onFailure(error, during, this.failures.next(retryAfterMs));
      }
      this.version = '';
    }
    if (!canResume) this.version = '';
    if (performance.now() - begunMs < REAL_MS) return this.shortWatches.next();
    this.shortWatches.reset();
    return 0;
  }

  private async watchOnce(): Promise<void> {
    let isOpen = false;
    let isProven = false;
    let timer: NodeJS.Timeout | undefined;
    const prove = (): void => {
      clearTimeout(timer);
      if (isProven) return;
      [isProven, this.isDoubted] = [true, false];
      this.failures.reset();
    };
    const confirm = (): void => {
      const wasDoubted = this.isDoubted;
      prove();
      if (wasDoubted) this.parts.onOpen();
    };
    const onOpen = (): void => {
      isOpen = true;
      timer = setTimeout(confirm, REAL_MS);
      if (!this.isDoubted) this.parts.onOpen();
    };
    try {
      await this.watch(onOpen, confirm);
    } catch (error) {
      if (isOpen && !isProven && !isGone(error)) this.isDoubted = true;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private watch(onOpen: () => void, onNews: () => void): Promise<void> {
    const { client, path, fieldSelector, accept, answerMs = 30_000, onEvent, onUnread } = this.parts;
    return client.watch({
      path,
      ...(accept !== undefined && { accept }),
      query: {
        ...(fieldSelector !== undefined && { fieldSelector }),
        resourceVersion: this.version,
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(this.lifeS),
      },
      answerMs,
      lifeMs: this.lifeS * 1000 + answerMs, // the server should have ended it before
      onOpen,
      onEvent: (type, object) => {
        onNews();
        this.version = resourceVersionOf(object);
        if (type !== 'BOOKMARK') onEvent(type, object);
      },
      onUnread,
    });
  }
}

function isGone(error: unknown): boolean {
  return error instanceof KubeError && error.status === 410;
}
