import { encodeRecord, type NewRecord } from './record';

/** Most bytes of records that wait for the disk. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The lines that wait for the disk, up to a bound. Beyond it new ones are left out, and a record says how many. */
export class WaitingLines {
  private readonly lines: Buffer[] = [];
  private bytes = 0;
  private leftOut = 0;

  get count(): number {
    return this.lines.length;
  }

  /** The length of the next line, in bytes; undefined when none waits. */
  get nextBytes(): number | undefined {
    return this.lines[0]?.length;
  }

  /** False when there is no room for it. */
  add(record: NewRecord & { readonly at: string }): boolean {
    const line = Buffer.from(encodeRecord(record));
    if (this.bytes + line.length > MAX_WAITING_BYTES) {
      this.leftOut += 1;
      return false;
    }
    this.push(line);
    return true;
  }

  /** The next lines that fit into this number of bytes together. They stay until they are dropped. */
  take(roomBytes: number): readonly Buffer[] {
    let bytes = 0;
    const count = this.lines.findIndex(({ length }) => (bytes += length) > roomBytes);
    return count === -1 ? [...this.lines] : this.lines.slice(0, count);
  }

  /** These lines are written. A record of what was left out meanwhile follows. `at`: the time, RFC 3339. */
  drop(written: readonly Buffer[], at: string): void {
    this.lines.splice(0, written.length);
    for (const { length } of written) this.bytes -= length;
    if (this.leftOut === 0) return;
    const because = 'the disk did not take them in time';
    this.push(Buffer.from(encodeRecord({ at, kind: 'left-out', records: this.leftOut, because })));
    this.leftOut = 0;
  }

  private push(line: Buffer): void {
    this.lines.push(line);
    this.bytes += line.length;
  }
}
