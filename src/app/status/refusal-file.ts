import { constants } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { NodeView } from '../../core/model/node-view';
import type { Refusal } from '../../core/model/refusal';
import { readBounded } from '../../files/read-bounded';
import { decodeRefusals, encodeRefusals, MAX_REFUSALS_BYTES } from '../../state';
import type { OnClose } from '../lifecycle/closers';
import { logFault } from '../alarms/faults';
import { RefusalHistory } from './refusal-history';

const FILE_NAME = 'refusals.json';

export interface RefusalsOptions {
  readonly stateDir: string;
  readonly model: NodeView;
  readonly now: () => string;
  readonly log: Logger;
  readonly onClose: OnClose;
}

/** Opens the history of refusals with the entries of an earlier process. It is kept on disk from now on. */
export function openRefusals({ stateDir, model, now, log, onClose }: RefusalsOptions): RefusalHistory {
  const path = join(stateDir, FILE_NAME);
  const file = new RefusalFile({ path, list: () => book.list(), log });
  const book = new RefusalHistory({ model, now, onChange: (change) => file.touch(change) });
  book.restore(readRefusals(path, log));
  onClose(() => file.close());
  return book;
}

/** The refusals that an earlier process knew. A file that can't be read is logged and forgotten: it decides nothing. */
export function readRefusals(path: string, log: Logger): readonly Refusal[] {
  const read = readBounded(path, MAX_REFUSALS_BYTES, { own: true });
  if (!read.ok && read.kind === 'missing') return [];
  const decoded = read.ok ? decodeRefusals(read.text) : read;
  if (decoded.ok) return decoded.value;
  log.warn({ path, because: decoded.because }, 'earlier refusals are forgotten');
  return [];
}

export interface RefusalFileParts {
  readonly path: string;
  readonly list: () => readonly Refusal[];
  readonly log: Logger;
  /** Puts a file of this text in the place of what is there; for tests. */
  readonly replace?: (path: string, text: string) => Promise<void>;
  /** The time in which changes are gathered, and the one for news of retries alone, in milliseconds; for tests. */
  readonly gatherMs?: number;
  readonly retriesMs?: number;
}

const GATHER_MS = 2_000;
const RETRIES_MS = 30_000;
/** The disk may hang; the end of the process does not wait for it. */
const CLOSE_MS = 1_000;

/**
 * Keeps the refusals on disk, in a file of their own and in the background: no answer waits for it and none depends on
 * it. Changes are written together after a while, one write at a time, without a sync: a crash of the machine may cost
 * the last of them, a crash of the process those of the last seconds. A write that fails is logged once, and tried
 * again with the next change.
 */
export class RefusalFile {
  private timer: { readonly dueMs: number; readonly handle: NodeJS.Timeout } | undefined;
  private writing: Promise<void> | undefined;
  private isFailing = false;
  private isChanged = false;
  private isClosed = false;

  constructor(private readonly parts: RefusalFileParts) {}

  /** Something has changed; `repeated`: it can be written later. */
  touch(change: 'entries' | 'repeated'): void {
    const { gatherMs = GATHER_MS, retriesMs = RETRIES_MS } = this.parts;
    this.isChanged = true;
    this.writeIn(change === 'entries' ? gatherMs : retriesMs);
  }

  /** Writes what is not written, and ends. Never rejects. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer?.handle);
    let limit: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (limit = setTimeout(resolve, CLOSE_MS)));
    await Promise.race([this.writeAll(), late]);
    clearTimeout(limit);
  }

  private async writeAll(): Promise<void> {
    await this.writing;
    if (this.isChanged) await this.write();
  }

  private writeIn(delayMs: number): void {
    const dueMs = performance.now() + delayMs;
    if (this.isClosed || (this.timer && this.timer.dueMs <= dueMs)) return;
    clearTimeout(this.timer?.handle);
    const fire = (): void => {
      this.timer = undefined;
      if (this.writing) this.writeIn(this.parts.gatherMs ?? GATHER_MS);
      else this.write().catch((error: unknown) => logFault(this.parts.log, 'refusals were not written', error));
    };
    this.timer = { dueMs, handle: setTimeout(fire, delayMs).unref() };
  }

  private write(): Promise<void> {
    const { path, list, log, replace = replaceFile } = this.parts;
    this.isChanged = false;
    const attempt = async (): Promise<void> => {
      try {
        await replace(path, encodeRefusals(list()));
        this.isFailing = false;
      } catch (error) {
        this.isChanged = true;
        if (!this.isFailing) log.warn({ path, err: error }, 'refusals are not kept over a restart');
        this.isFailing = true;
      }
    };
    const writing = attempt().finally(() => (this.writing = undefined));
    return (this.writing = writing);
  }
}

/** Never writes through a link, nor into a pipe. */
async function replaceFile(path: string, text: string): Promise<void> {
  const tempPath = `${path}.tmp`;
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const create = () => open(tempPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  const file = await create().catch(async (error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    await unlink(tempPath); // left by a process that was killed
    return create();
  });
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
  await rename(tempPath, path);
}
