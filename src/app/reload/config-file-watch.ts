import { watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import { readBounded } from '../../files/read-bounded';

/** Larger ones are refused when they are loaded. */
const MAX_BYTES = 64 * 1024;
/** Pause between two looks at a file that is being written: it is taken when both find the same. */
const SETTLE_MS = 50;
/** Longest time for which a file that changes all the time is not taken. */
const PATIENCE_MS = 1_000;
const POLL_MS = 10_000;

export interface ConfigFileWatchParts {
  readonly path: string;
  /** The text that is known; undefined when the file could not be read. */
  readonly known: string | undefined;
  /** The file has another text than was known, or can't be read any more. */
  readonly onChange: () => void;
  readonly signal: AbortSignal;
  readonly pollMs?: number;
}

/**
 * Notices that a file has another text. It watches the directory, so that the file may be replaced, or be a link to
 * where another file is, as in a mounted ConfigMap. What is written in several steps is taken when it has settled. A
 * failing watch is made again at the next poll.
 */
export class ConfigFileWatch {
  private known: string | undefined;
  private watcher: FSWatcher | undefined;
  private settling: NodeJS.Timeout | undefined;

  constructor(private readonly parts: ConfigFileWatchParts) {
    const { known, signal, pollMs = POLL_MS } = parts;
    this.known = known;
    if (signal.aborted) return;
    const poll = (): void => {
      this.openWatcher();
      if (this.read() !== this.known) this.settle();
    };
    const timer = setInterval(poll, pollMs).unref();
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(timer);
        clearTimeout(this.settling);
        this.watcher?.close();
      },
      { once: true },
    );
    poll(); // it may have changed since it was read
  }

  private openWatcher(): void {
    if (this.watcher) return;
    try {
      const watcher = watch(dirname(this.parts.path), { persistent: false }, () => this.settle());
      watcher.on('error', () => this.closeWatcher(watcher));
      this.watcher = watcher;
    } catch {
      // Polling goes on.
    }
  }

  private closeWatcher(watcher: FSWatcher): void {
    watcher.close();
    if (this.watcher === watcher) this.watcher = undefined;
  }

  /** Looks at the file until two looks find the same. */
  private settle(): void {
    if (this.settling) return;
    const sinceMs = performance.now();
    let last = this.read();
    const look = (): void => {
      this.settling = undefined;
      const text = this.read();
      if (text !== last && performance.now() - sinceMs < PATIENCE_MS) {
        last = text;
        this.settling = setTimeout(look, SETTLE_MS).unref();
      } else if (text !== this.known) {
        this.known = text;
        this.parts.onChange();
      }
    };
    this.settling = setTimeout(look, SETTLE_MS).unref();
  }

  private read(): string | undefined {
    const read = readBounded(this.parts.path, MAX_BYTES);
    return read.ok ? read.text : undefined;
  }
}
