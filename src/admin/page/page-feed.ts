import { createHash } from 'node:crypto';
import type { Writable } from 'node:stream';
import { setMaxListeners } from 'node:events';
import type { JournalRecord } from '../../state/journal';
import type { AdminBackend } from '../model/backend';
import { streamLatest } from '../server/stream-latest';
import type { AdminLog } from '../grpc/unary-handler';
import type { PageModel } from './page-model';
import { diffContent, type PageChange, type PageContent } from './render/fragments';

export interface PageFeedParts {
  readonly backend: Pick<AdminBackend, 'watch'>;
  readonly model: Pick<PageModel, 'render'>;
  /** The last records of the journal. */
  readonly history: () => Promise<readonly JournalRecord[]>;
  /** Time between signs of life, in ms. Default: `BEAT_MS`. */
  readonly beatMs?: number;
  readonly log: AdminLog;
}

/** Changes of this time are sent together. A browser does not show more. */
const GATHER_MS = 100;
/** The journal is written a little later than its facts are sent. */
const JOURNAL_MS = 500;
/** Time between signs of life. A browser that hears nothing for much longer says so (`client/show-liveness.ts`). */
export const BEAT_MS = 3_000;
/** Most browsers at once. */
const MAX_STREAMS = 32;

/**
 * Tells browsers what has changed on the page: one rendering and one text for all of them, ten times a second at most,
 * and nothing while no browser listens. A browser that reads slowly misses changes, and gets the whole content when it
 * has read on.
 */
export class PageFeed {
  /** The streams that are open, by what sends to them. */
  private readonly listeners = new Map<(message: Buffer) => void, Writable>();
  private readonly closing = new AbortController();
  /** Streams that are open or being opened. */
  private reserved = 0;
  private unwatch: (() => void) | undefined;
  private content: PageContent | undefined;
  private timer: NodeJS.Timeout | undefined;
  private laterTimer: NodeJS.Timeout | undefined;
  private beat: NodeJS.Timeout | undefined;

  constructor(private readonly parts: PageFeedParts) {
    setMaxListeners(0, this.closing.signal);
  }

  /**
   * Takes a place for a stream until the signal aborts: the stream has ended, or its client has gone.
   *
   * @returns undefined when all places are taken; else a function that sends changes until the stream is closed.
   * `version`: that of the content that the browser has
   */
  reserve(signal: AbortSignal): ((to: Writable, version: string) => Promise<void>) | undefined {
    if (signal.aborted || this.reserved >= MAX_STREAMS) return undefined;
    this.reserved += 1;
    signal.addEventListener('abort', () => (this.reserved -= 1), { once: true });
    return (to, version) => this.open(to, version);
  }

  /** The page as of now, with these records. */
  renderNow(records: readonly JournalRecord[]): PageContent {
    return this.parts.model.render(records);
  }

  close(): void {
    this.closing.abort();
    this.end();
  }

  private async open(to: Writable, version: string): Promise<void> {
    const records = await this.parts.history();
    const content = this.renderNow(records);
    if (to.destroyed || this.closing.signal.aborted) return void to.destroy();
    this.begin();
    // Those who listen already get the difference first: then all have the same content.
    this.send(content);
    let isFirst = true;
    streamLatest<Buffer>(to, {
      snapshot: () => {
        const isKnown = isFirst && version === versionOf(content);
        isFirst = false;
        return isKnown ? encodeBeat() : encode('content', diffContent(undefined, this.content!)!);
      },
      subscribe: (listener) => {
        this.listeners.set(listener, to);
        return () => {
          this.listeners.delete(listener);
          if (this.listeners.size === 0) this.end();
        };
      },
      closing: this.closing.signal,
      fail: (error) => {
        this.parts.log.error({ err: error }, 'the content of the page could not be sent');
        to.destroy();
      },
    });
  }

  private begin(): void {
    this.unwatch ??= this.parts.backend.watch(() => {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.update();
        this.laterTimer ??= setTimeout(() => {
          this.laterTimer = undefined;
          this.update();
        }, JOURNAL_MS).unref();
      }, GATHER_MS).unref();
    });
    this.beat ??= setInterval(() => this.sendBeat(), this.parts.beatMs ?? BEAT_MS).unref();
  }

  private end(): void {
    this.unwatch?.();
    clearTimeout(this.timer);
    clearTimeout(this.laterTimer);
    clearInterval(this.beat);
    this.unwatch = this.timer = this.laterTimer = this.beat = this.content = undefined;
  }

  private update(): void {
    this.parts
      .history()
      .then((records) => {
        if (this.listeners.size > 0) this.send(this.renderNow(records));
      })
      .catch((error: unknown) => this.parts.log.error({ err: error }, 'the content of the page could not be made'));
  }

  private send(content: PageContent): void {
    const change = this.listeners.size > 0 && this.content ? diffContent(this.content, content) : undefined;
    this.content = content;
    if (change) this.broadcast(encode('change', change));
  }

  /** One that still has to read something else needs none: a beat that it misses does not cost it the whole content. */
  private sendBeat(): void {
    const beat = encodeBeat();
    for (const stream of this.listeners.values()) if (!stream.writableNeedDrain) stream.write(beat);
  }

  private broadcast(message: Buffer): void {
    for (const listener of this.listeners.keys()) listener(message);
  }
}

/** The name of a content: the same for the same content. */
export function versionOf({ machine, cells, lists }: PageContent): string {
  const hash = createHash('sha256').update(machine.layout);
  for (const { html } of [...cells, ...lists.flatMap(({ items }) => items)]) hash.update(html.text);
  return hash.digest('base64url').slice(0, 22);
}

/** One event of a stream of server-sent events. */
function encode(event: 'content' | 'change', change: PageChange): Buffer {
  return Buffer.from(`event: ${event}\ndata: ${JSON.stringify(change)}\n\n`);
}

/** The sign of life: the time here, which ages are counted from. */
function encodeBeat(): Buffer {
  return Buffer.from(`event: beat\ndata: ${new Date().toISOString()}\n\n`);
}
