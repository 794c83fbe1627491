import type { Logger } from 'pino';
import { LastProblem } from '../../net/connection-state';
import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { Reflector } from '../api/reflector';
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
 * Reads a collection of the whole cluster: a list in pages, then a watch from its version. While the API server is away nothing is
 * reported. Keeps no object.
 */
export class CollectionReader {
  private readonly reflector: Reflector;
  private readonly problem = new LastProblem();
  private hasListed = false;
  private isWatching = false;
  private because = 'it has not answered yet';

  constructor(private readonly parts: CollectionReaderParts) {
    const { client, signal, path, fieldSelector, accept, sink, answerMs } = parts;
    this.reflector = new Reflector({
      client,
      signal,
      path,
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(accept !== undefined && { accept }),
      list: () => this.list(),
      onOpen: () => this.become('', true),
      onEvent: (type, object) => this.guard(() => sink.onEvent(type, object)),
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

  private async list(): Promise<string> {
    const { client, path, fieldSelector, accept, sink, pageSize = PAGE_SIZE } = this.parts;
    this.guard(sink.onListBegin);
    const version = await listInPages({
      client,
      path,
      query: fieldSelector === undefined ? {} : { fieldSelector },
      ...(accept !== undefined && { accept }),
      onItem: (object) => this.guard(() => sink.onItem(object)),
      onRestart: () => this.guard(sink.onListBegin),
      pageSize,
    });
    this.guard(sink.onListEnd);
    this.hasListed = true;
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
    const { path, log } = this.parts;
    const reason = explainKubeError(error);
    const isForbidden = error instanceof KubeError && error.status === 403;
    this.become(reason, false);
    if (this.problem.isNew(reason))
      log.warn({ path, during, because: reason, waitMs }, 'no news from the API server; asking again');
    return isForbidden ? Math.max(waitMs, FORBIDDEN_MS) : waitMs;
  }

  private become(because: string, isWatching: boolean): void {
    const { path, log } = this.parts;
    this.because = because;
    this.isWatching = isWatching;
    if (isWatching && this.problem.clear()) log.info({ path }, 'the API server sends changes again');
  }
}
