import type { Logger } from 'pino';
import { backOffMs } from '../../net/back-off';
import { LastProblem } from '../../net/connection-state';
import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { Reflector } from '../api/reflector';
import { logFirstUnread } from '../api/unread-objects';
import { listInPages } from './list-in-pages';

export interface CollectionReaderParts {
  readonly client: Pick<KubeClient, 'send' | 'watch'>;
  /** The collection; begins with a slash. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly accept?: string;
  readonly sink: CollectionSink;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /**
   * The reason while the API server does not know the collection (404), for the operator. Without it, the server's own
   * words.
   */
  readonly whenUnknown?: string;
  /** The API server knows the collection no more; also when the first answer says so. Must not throw. */
  readonly onUndefined?: () => void;
  /** The pause after such an answer: none of its own by default. */
  readonly unknownMs?: number;
  readonly pageSize?: number;
  /** For tests: maximum time until a server begins to answer. */
  readonly answerMs?: number;
}

/** Receives the objects of a collection. */
export interface CollectionSink {
  /** A list begins; the objects of one that did not come to its end are void. */
  readonly onListBegin: () => void;
  /** An object of the list. */
  readonly onItem: (object: unknown) => void;
  /** The list is complete. */
  readonly onListEnd: () => void;
  /** `type`: ADDED, MODIFIED or DELETED. */
  readonly onEvent: (type: string, object: unknown) => void;
}

const PAGE_SIZE = 500;
/** The role of a component rarely changes while it runs. */
const FORBIDDEN_MS = 30_000;

/**
 * Reads a collection of the whole cluster: a list in pages, then a watch from its version. While the API server is away
 * nothing is reported. Keeps no object.
 */
export class CollectionReader {
  private readonly reflector: Reflector;
  private readonly onUnread: (because: string) => void;
  private readonly problem = new LastProblem();
  private hasListed = false;
  private isWatching = false;
  private isUnknown = false;
  /** The time of the last news, while there are none; of the monotonic clock. */
  private newsAtMs: number | undefined;
  private because = 'it has not answered yet';

  constructor(private readonly parts: CollectionReaderParts) {
    const { client, signal, path, fieldSelector, accept, sink, answerMs } = parts;
    this.onUnread = logFirstUnread(parts.log, path);
    this.reflector = new Reflector({
      client,
      signal,
      path,
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(accept !== undefined && { accept }),
      list: () => this.list(),
      onOpen: () => this.become('', true),
      onEvent: (type, object) => this.guard(() => sink.onEvent(type, object)),
      onUnread: this.onUnread,
      onFailure: (error, during, waitMs) => this.noteFailure(error, during, waitMs),
      canResume: true,
      ...(answerMs !== undefined && { answerMs }),
    });
  }

  /** Runs until the signal aborts; never rejects. */
  run(): Promise<void> {
    return this.reflector.run();
  }

  /** True after the first complete list. */
  get isSynced(): boolean {
    return this.hasListed;
  }

  /** The reason for having no news now, for the operator; empty while the API server sends changes. */
  get reason(): string {
    return this.isWatching ? '' : this.because;
  }

  /** False since the API server answered that it does not know the collection (404), until it sends news of it. */
  get isDefined(): boolean {
    return !this.isUnknown;
  }

  /**
   * Milliseconds since the API server last sent news: 0 while it sends changes, undefined before the first complete
   * list.
   */
  get newsAgeMs(): number | undefined {
    if (this.isWatching) return 0;
    return this.newsAtMs === undefined ? undefined : performance.now() - this.newsAtMs;
  }

  private async list(): Promise<string> {
    const { client, path, fieldSelector, accept, sink, pageSize = PAGE_SIZE } = this.parts;
    this.guard(sink.onListBegin);
    const version = await listInPages({
      client,
      path,
      query: fieldSelector === undefined ? {} : { fieldSelector },
      ...(accept !== undefined && { accept }),
      onItem: (object) => this.guard(() => sink.onItem(object)),
      onUnread: this.onUnread,
      onRestart: () => this.guard(sink.onListBegin),
      pageSize,
    });
    this.guard(sink.onListEnd);
    this.hasListed = true;
    this.isUnknown = false;
    this.newsAtMs = performance.now();
    return version;
  }

  /** An error of the sink is logged, and reading goes on. */
  private guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.parts.log.error({ err: error, path: this.parts.path }, 'taking over an object of the API server failed');
    }
  }

  private noteFailure(error: unknown, during: 'list' | 'watch', waitMs: number): number {
    const { path, log, whenUnknown, unknownMs = 0 } = this.parts;
    const status = error instanceof KubeError ? error.status : 0;
    if (status === 404 && !this.isUnknown) {
      this.isUnknown = true;
      this.parts.onUndefined?.();
    }
    const reason = status === 404 && whenUnknown !== undefined ? whenUnknown : explainKubeError(error);
    this.become(reason, false);
    if (this.problem.isNew(reason))
      log.warn({ path, during, because: reason, waitMs }, 'no news from the API server; asking again');
    // Nodes of a cluster that has not the definition should not ask in step.
    const pauseMs = status === 404 ? backOffMs(0, { leastMs: unknownMs, mostMs: unknownMs }) : 0;
    return Math.max(waitMs, status === 403 ? FORBIDDEN_MS : pauseMs);
  }

  private become(because: string, isWatching: boolean): void {
    const { path, log } = this.parts;
    if (this.isWatching && !isWatching) this.newsAtMs = performance.now();
    if (isWatching) this.isUnknown = false;
    this.because = because;
    this.isWatching = isWatching;
    if (isWatching && this.problem.clear()) log.info({ path }, 'the API server sends changes again');
  }
}
