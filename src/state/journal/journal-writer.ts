import { join } from 'node:path';
import { nodeJournalFs, type JournalFs } from './journal-fs';
import { beginSegment, continueSegment, type OpenSegment } from './open-segment';
import { encodeRecord, type NewRecord } from './record';
import { segmentNumber, sortSegments } from './segments';
import { WaitingLines } from './waiting-lines';

export interface JournalLimits {
  /** Largest size of all files together; at least `MIN_JOURNAL_BYTES`. */
  readonly maxBytes: number;
  /** Age at which a file is removed, counted from its last record, in ms. */
  readonly maxAgeMs: number;
}

export interface JournalWriterParts {
  readonly dir: string;
  /** The version of cpusetd, as in package.json. */
  readonly version: string;
  readonly limits: JournalLimits;
  /** A write has failed for the first time since one succeeded. It is tried again. */
  readonly onProblem: (error: unknown) => void;
  /**
   * Records for the beginning of each file, so that it can be read without those before it. `ahead`: the number of
   * records that wait to be written, which follow it. `afterGap`: the file is the first one after a gap. Left out where
   * a file has no room for them.
   */
  readonly preamble?: (ahead: number, afterGap: boolean) => Iterable<NewRecord>;
  /** True when records between the last file and this writer are missing: it then begins a file in any case. */
  readonly afterGap?: boolean;
  /** The wall clock, in ms since 1970. */
  readonly wallMs?: () => number;
  readonly fs?: JournalFs;
  /** The time in which records are gathered, in ms. */
  readonly gatherMs?: number;
  /** Maximum time that `close` waits for the disk, in ms. */
  readonly closeMs?: number;
}

const GATHER_MS = 200;
/** Pause after a failed write, in ms. */
const RETRY_MS = 10_000;
/** The disk may hang; the end of the process does not wait for it. */
const CLOSE_MS = 1_000;
const PRUNE_MS = 3_600_000;
/** A file is left for the next one when it has this part of the limits. */
const SEGMENTS = 8;
const MAX_SEGMENT_BYTES = 4 * 1024 * 1024;
/** Room for a header and the longest line, and more. */
const MIN_SEGMENT_BYTES = 64 * 1024;
/** Largest part of a file that its preamble may have. */
const MAX_PREAMBLE = 0.25;

/** The smallest limit of a journal's size. */
export const MIN_JOURNAL_BYTES = SEGMENTS * MIN_SEGMENT_BYTES;

/**
 * Writes the journal: records are appended to numbered files of limited size and age, and the oldest are removed.
 * Everything but `add` runs in the background, one write at a time, and nothing is synced: a crash of the process costs
 * the records of the last moment, a crash of the machine those that the kernel had not written. A file that a crash cut
 * off within a line is never appended to.
 *
 * When the disk takes nothing, records wait in memory up to a bound; beyond it new ones are left out, and a record says
 * how many.
 */
export class JournalWriter {
  private readonly fs: JournalFs;
  private readonly wallMs: () => number;
  private limits: JournalLimits;
  private readonly waiting = new WaitingLines();
  private segment: OpenSegment | undefined;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private prunedMs = Number.NEGATIVE_INFINITY;
  private isFailing = false;
  private isClosed = false;
  /** True until the first file after a gap is begun. */
  private isAfterGap: boolean;
  private readonly pruneTimer: NodeJS.Timeout;

  constructor(private readonly parts: JournalWriterParts) {
    this.fs = parts.fs ?? nodeJournalFs;
    this.limits = parts.limits;
    this.isAfterGap = parts.afterGap === true;
    this.wallMs = parts.wallMs ?? (() => Date.now());
    this.pruneTimer = setInterval(() => this.writeIn(0), PRUNE_MS).unref();
  }

  /** From now on. What is too much or too old is removed with the next write. */
  setLimits(limits: JournalLimits): void {
    this.limits = limits;
    this.prunedMs = Number.NEGATIVE_INFINITY;
    this.writeIn(0);
  }

  /** Never waits. */
  add({ at = this.now(), kind, ...facts }: NewRecord): void {
    if (this.isClosed) return;
    if (this.waiting.add({ at, kind, ...facts })) this.writeIn(this.parts.gatherMs ?? GATHER_MS);
  }

  /** Resolves when everything that was added is written, or could not be. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.writing;
    await this.write();
  }

  /** Writes what waits, and ends. Never rejects, and gives up on a disk that hangs. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.pruneTimer);
    let limit: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (limit = setTimeout(resolve, this.parts.closeMs ?? CLOSE_MS)));
    const end = async (): Promise<void> => {
      await this.flush();
      await this.leaveSegment();
    };
    await Promise.race([end(), late]);
    clearTimeout(limit);
  }

  private now(): string {
    return new Date(this.wallMs()).toISOString();
  }

  private writeIn(delayMs: number): void {
    if (this.timer || this.isClosed) return;
    const fire = (): void => {
      this.timer = undefined;
      this.write().catch(this.parts.onProblem);
    };
    this.timer = setTimeout(fire, this.isFailing ? RETRY_MS : delayMs).unref();
  }

  /** Never rejects. A call during a write is part of that one. */
  private write(): Promise<void> {
    this.writing ??= this.attempt().finally(() => {
      this.writing = undefined;
      if (this.waiting.count > 0) this.writeIn(this.parts.gatherMs ?? GATHER_MS);
    });
    return this.writing;
  }

  private async attempt(): Promise<void> {
    try {
      await this.pruneWhenDue();
      await this.writeWaiting();
      this.isFailing = false;
    } catch (error) {
      await this.leaveSegment();
      if (!this.isFailing) this.parts.onProblem(error);
      this.isFailing = true;
    }
  }

  private async writeWaiting(): Promise<void> {
    const { waiting } = this;
    for (let length = waiting.nextBytes; length !== undefined; length = waiting.nextBytes) {
      const segment = await this.openSegment(length);
      const lines = waiting.take(this.segmentBytes - segment.sizeBytes);
      if (lines.length === 0) throw new Error('a line is longer than a file'); // the limits rule it out
      const bytes = Buffer.concat(lines);
      try {
        await segment.file.append(bytes);
      } catch (error) {
        await segment.file.cutTo(segment.sizeBytes).catch(() => undefined); // its torn end is noticed when it is opened
        throw error;
      }
      segment.sizeBytes += bytes.length;
      waiting.drop(lines, this.now());
    }
  }

  /** The size at which a file is left. */
  private get segmentBytes(): number {
    const part = Math.floor(this.limits.maxBytes / SEGMENTS);
    return Math.max(MIN_SEGMENT_BYTES, Math.min(MAX_SEGMENT_BYTES, part));
  }

  /** The file that takes the next line, which has `lineBytes`: the last one, unless it is too old or full. */
  private async openSegment(lineBytes: number): Promise<OpenSegment> {
    const isOld = (sinceMs: number): boolean => this.wallMs() - sinceMs > this.limits.maxAgeMs / SEGMENTS;
    const isFull = (sizeBytes: number): boolean => sizeBytes + lineBytes > this.segmentBytes;
    if (this.segment && (isFull(this.segment.sizeBytes) || isOld(this.segment.sinceMs))) await this.leaveSegment();
    if (this.segment) return this.segment;
    const { fs } = this;
    const { dir, version } = this.parts;
    await this.fs.makeDirectory(dir);
    const last = sortSegments(await this.fs.list(dir)).at(-1);
    const lastNumber = last ? segmentNumber(last.name)! : 0;
    if (last && !isFull(last.sizeBytes) && !this.isAfterGap) {
      const found = await continueSegment({ fs, dir }, last);
      if (found && !isOld(found.sinceMs)) return (this.segment = { number: lastNumber, ...found });
      await found?.file.close();
    }
    const [sinceMs, preamble] = [this.wallMs(), this.encodePreamble()];
    const begun = { number: lastNumber + 1, sinceMs, writtenBy: version, preamble };
    this.segment = await beginSegment({ fs, dir }, begun);
    this.isAfterGap = false;
    await this.prune();
    return this.segment;
  }

  private encodePreamble(): Buffer {
    const at = this.now();
    const lines: Buffer[] = [];
    let room = this.segmentBytes * MAX_PREAMBLE;
    for (const record of this.parts.preamble?.(this.waiting.count, this.isAfterGap) ?? []) {
      const line = Buffer.from(encodeRecord({ at, ...record }));
      room -= line.length;
      if (room < 0) return Buffer.alloc(0);
      lines.push(line);
    }
    return Buffer.concat(lines);
  }

  private async leaveSegment(): Promise<void> {
    const { segment } = this;
    this.segment = undefined;
    await segment?.file.close().catch(() => undefined);
  }

  private async pruneWhenDue(): Promise<void> {
    if (performance.now() - this.prunedMs < PRUNE_MS) return;
    await this.fs.makeDirectory(this.parts.dir);
    await this.prune();
  }

  /** Removes the oldest files: those that are too old, and as many as the next file may need room. */
  private async prune(): Promise<void> {
    const { limits } = this;
    const { dir } = this.parts;
    this.prunedMs = performance.now();
    const files = sortSegments(await this.fs.list(dir)).filter(
      ({ name }) => this.segment === undefined || segmentNumber(name) !== this.segment.number,
    );
    let room = limits.maxBytes - this.segmentBytes;
    for (const { name, sizeBytes, changedMs } of [...files].reverse()) {
      room -= sizeBytes;
      if (room < 0 || this.wallMs() - changedMs > limits.maxAgeMs) await this.fs.remove(join(dir, name));
    }
  }
}
