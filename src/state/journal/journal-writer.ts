import { join } from 'node:path';
import { nodeJournalFs, type AppendedFile, type FoundFile, type JournalFs } from './journal-fs';
import { decodeLine, encodeHeader, encodeRecord, JOURNAL_VERSION, type NewRecord } from './record';
import { segmentName, segmentNumber, sortSegments } from './segments';

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
   * Records for the beginning of each file, so that it can be read without those before it. `ahead`: the number of records that wait to be
   * written, which follow it. `afterGap`: the file is the first one after a gap. Left out where a file has no room for them.
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
/** Most bytes of records that wait for the disk. */
const MAX_WAITING_BYTES = 1024 * 1024;
const PRUNE_MS = 3_600_000;
/** A file is left for the next one when it has this part of the limits. */
const SEGMENTS = 8;
const MAX_SEGMENT_BYTES = 4 * 1024 * 1024;
/** Room for a header and the longest line, and more. */
const MIN_SEGMENT_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 4_096;
/** Largest part of a file that its preamble may have. */
const MAX_PREAMBLE = 0.25;

/** The smallest limit of a journal's size. */
export const MIN_JOURNAL_BYTES = SEGMENTS * MIN_SEGMENT_BYTES;

interface OpenSegment {
  readonly number: number;
  readonly file: AppendedFile;
  readonly sinceMs: number;
  /** All of it are whole lines. */
  sizeBytes: number;
}

/**
 * Writes the journal: records are appended to numbered files of limited size and age, and the oldest are removed. Everything but `add` runs in
 * the background, one write at a time, and nothing is synced: a crash of the process costs the records of the last moment, a crash of the
 * machine those that the kernel had not written. A file that a crash cut off within a line is never appended to.
 *
 * When the disk takes nothing, records wait in memory up to a bound; beyond it new ones are left out, and a record says how many.
 */
export class JournalWriter {
  private readonly fs: JournalFs;
  private readonly wallMs: () => number;
  private limits: JournalLimits;
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  private leftOut = 0;
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
    const line = Buffer.from(encodeRecord({ at, kind, ...facts }));
    if (this.waitingBytes + line.length > MAX_WAITING_BYTES) {
      this.leftOut += 1;
      return;
    }
    this.waiting.push(line);
    this.waitingBytes += line.length;
    this.writeIn(this.parts.gatherMs ?? GATHER_MS);
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
      if (this.waiting.length > 0) this.writeIn(this.parts.gatherMs ?? GATHER_MS);
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
    while (this.waiting.length > 0) {
      const segment = await this.openSegment(this.waiting[0]!.length);
      const lines = this.takeLines(this.segmentBytes - segment.sizeBytes);
      if (lines.length === 0) throw new Error('a line is longer than a file'); // the limits rule it out
      const bytes = Buffer.concat(lines);
      try {
        await segment.file.append(bytes);
      } catch (error) {
        await segment.file.cutTo(segment.sizeBytes).catch(() => undefined); // its torn end is noticed when it is opened
        throw error;
      }
      segment.sizeBytes += bytes.length;
      this.drop(lines);
      this.noteLeftOut();
    }
  }

  /** The next lines, up to a number of bytes together. They stay until they are written. */
  private takeLines(roomBytes: number): readonly Buffer[] {
    let bytes = 0;
    const count = this.waiting.findIndex(({ length }) => (bytes += length) > roomBytes);
    return count === -1 ? [...this.waiting] : this.waiting.slice(0, count);
  }

  private drop(lines: readonly Buffer[]): void {
    this.waiting.splice(0, lines.length);
    for (const { length } of lines) this.waitingBytes -= length;
  }

  private noteLeftOut(): void {
    if (this.leftOut === 0) return;
    const because = 'the disk did not take them in time';
    const line = Buffer.from(encodeRecord({ at: this.now(), kind: 'left-out', records: this.leftOut, because }));
    this.leftOut = 0;
    this.waiting.push(line);
    this.waitingBytes += line.length;
  }

  /** The size at which a file is left. */
  private get segmentBytes(): number {
    const part = Math.floor(this.limits.maxBytes / SEGMENTS);
    return Math.max(MIN_SEGMENT_BYTES, Math.min(MAX_SEGMENT_BYTES, part));
  }

  /** The file that takes the next line of this size: the last one, unless it is too old or full. */
  private async openSegment(lineBytes: number): Promise<OpenSegment> {
    const isOld = (sinceMs: number): boolean => this.wallMs() - sinceMs > this.limits.maxAgeMs / SEGMENTS;
    const isFull = (sizeBytes: number): boolean => sizeBytes + lineBytes > this.segmentBytes;
    if (this.segment && (isFull(this.segment.sizeBytes) || isOld(this.segment.sinceMs))) await this.leaveSegment();
    if (this.segment) return this.segment;
    const { dir, version } = this.parts;
    await this.fs.makeDirectory(dir);
    const last = sortSegments(await this.fs.list(dir)).at(-1);
    const lastNumber = last ? segmentNumber(last.name)! : 0;
    if (last && !isFull(last.sizeBytes) && !this.isAfterGap) {
      const found = await this.goOn(last);
      if (found && !isOld(found.sinceMs)) return (this.segment = { number: lastNumber, ...found });
      await found?.file.close();
    }
    const number = lastNumber + 1;
    const sinceMs = this.wallMs();
    const preamble = this.encodePreamble();
    const at = new Date(sinceMs).toISOString();
    const start = Buffer.concat([
      Buffer.from(encodeHeader({ writtenBy: version, at, preambleBytes: preamble.length })),
      preamble,
    ]);
    const path = join(dir, segmentName(number));
    const file = await this.fs.create(path);
    try {
      await file.append(start);
    } catch (error) {
      await file.close().catch(() => undefined);
      await this.fs.remove(path).catch(() => undefined); // each try would leave another one
      throw error;
    }
    this.segment = { number, file, sinceMs, sizeBytes: start.length };
    this.isAfterGap = false;
    await this.prune();
    return this.segment;
  }

  private encodePreamble(): Buffer {
    const at = this.now();
    const lines: Buffer[] = [];
    let room = this.segmentBytes * MAX_PREAMBLE;
    for (const record of this.parts.preamble?.(this.waiting.length, this.isAfterGap) ?? []) {
      const line = Buffer.from(encodeRecord({ at, ...record }));
      room -= line.length;
      if (room < 0) return Buffer.alloc(0);
      lines.push(line);
    }
    return Buffer.concat(lines);
  }

  /** Opens the file of an earlier process; undefined when it has another version, or was cut off within a line or its preamble. */
  private async goOn(last: FoundFile): Promise<Omit<OpenSegment, 'number'> | undefined> {
    const file = await this.fs.openToAppend(join(this.parts.dir, last.name));
    try {
      const { sizeBytes } = last;
      const head = (await file.read(0, MAX_HEADER_BYTES)).toString('utf8').split('\n', 1)[0]!;
      const [end] = sizeBytes === 0 ? [] : await file.read(sizeBytes - 1, 1);
      const header = decodeLine(head);
      const isOurs = header.kind === 'header' && header.version === JOURNAL_VERSION;
      const isWhole = isOurs && sizeBytes >= Buffer.byteLength(head) + 1 + header.preambleBytes;
      if (isWhole && end === '\n'.charCodeAt(0)) return { file, sizeBytes, sinceMs: header.atMs };
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    return undefined;
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
