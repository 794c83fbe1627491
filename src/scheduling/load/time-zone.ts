/**
 * The length of the pieces of time in which a zone's offset is constant: all zones change theirs at full quarters of an
 * hour.
 */
const QUARTER_MS = 15 * 60_000;
const WEEK_MS = 7 * 86_400_000;
/** No change of the clocks is undone within a week, but for Ramadan in Morocco, of five. */
const WEEKS_OF_YEAR = Array.from({ length: 53 }, (_, week) => week);
/** Most entries of each cache; a cache that is full begins anew. */
const MAX_CACHED = 4_096;

/** An unknown name of a time zone. The message is written for the operator. */
export class UnknownTimeZone extends Error {
  override readonly name = 'UnknownTimeZone';
}

/**
 * The time zone of stamps in annotations. A stamp is local time with a literal `Z`, `2023-03-01T10:00:00Z`: Go's layout
 * `2006-01-02T15:04:05Z` in crane-scheduler, read by `time.ParseInLocation`. So writers and readers have to agree on
 * the zone.
 */
export class TimeZone {
  private readonly offsets = new Map<number, number>();
  private readonly parsed = new Map<string, number | undefined>();

  private constructor(
    readonly name: string,
    private readonly local: Intl.DateTimeFormat,
  ) {}

  /**
   * @param name of the IANA database, such as `Asia/Shanghai`; empty = UTC
   * @throws {UnknownTimeZone}
   */
  static of(name: string): TimeZone {
    const zone = name === '' ? 'UTC' : name;
    try {
      return new TimeZone(zone, new Intl.DateTimeFormat('en-US', { ...FIELDS, timeZone: zone }));
    } catch (cause) {
      throw new UnknownTimeZone(
        `${JSON.stringify(name.slice(0, 100))} is no time zone; write a name of the IANA database such as Asia/Shanghai or UTC`,
        { cause },
      );
    }
  }

  /**
   * True when its clocks are changed within a year from this time: an hour of local time then comes twice, and a stamp
   * does not say which is meant.
   */
  changesClocksAfter(ms: number): boolean {
    const first = this.offsetAt(ms);
    return WEEKS_OF_YEAR.some((week) => this.offsetAt(ms + week * WEEK_MS) !== first);
  }

  /** The stamp of a time in milliseconds since 1970; parts of a second are left out. */
  format(ms: number): string {
    return `${new Date(ms + this.offsetAt(ms)).toISOString().slice(0, 19)}Z`;
  }

  /**
   * The time of a stamp in milliseconds since 1970; undefined for a text that Go would not read. Of a local time that
   * the zone has twice or not at all, Go's choice is taken (`time.Date`).
   */
  parse(stamp: string): number | undefined {
    const known = this.parsed.get(stamp);
    if (known !== undefined || this.parsed.has(stamp)) return known;
    const local = parseLocal(stamp);
    const ms = local === undefined ? undefined : local - this.offsetOfLocal(local);
    if (this.parsed.size >= MAX_CACHED) this.parsed.clear();
    this.parsed.set(stamp, ms);
    return ms;
  }

  /** Go takes the local time for UTC, and looks again where that crosses a change of the offset. */
  private offsetOfLocal(localMs: number): number {
    return this.offsetAt(localMs - this.offsetAt(localMs));
  }

  private offsetAt(ms: number): number {
    const quarter = Math.floor(ms / QUARTER_MS);
    const known = this.offsets.get(quarter);
    if (known !== undefined) return known;
    const offset = this.computeOffset(quarter * QUARTER_MS);
    if (this.offsets.size >= MAX_CACHED) this.offsets.clear();
    this.offsets.set(quarter, offset);
    return offset;
  }

  private computeOffset(ms: number): number {
    const parts = this.local.formatToParts(ms);
    const read = (type: Intl.DateTimeFormatPartTypes): number =>
      Number(parts.find((part) => part.type === type)?.value);
    const [year, month, day] = [read('year'), read('month') - 1, read('day')];
    return Date.UTC(year, month, day, read('hour'), read('minute'), read('second')) - ms;
  }
}

/** Warns of a zone in which stamps are wrong for an hour at each change of its clocks. */
export function warnOfChangingClocks(
  zone: TimeZone,
  log: { readonly warn: (fields: object, message: string) => void },
): void {
  if (zone.changesClocksAfter(Date.now()))
    log.warn(
      { zone: zone.name, remedy: 'have --time-zone=UTC, here and in all that reads or writes the annotations' },
      'the clocks of the time zone are changed in the year: for an hour figures count for too short or too long',
    );
}

const FIELDS: Intl.DateTimeFormatOptions = {
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
  hourCycle: 'h23',
};

/** Go accepts a fraction after the seconds, and an hour of one digit, whatever the layout says. */
const STAMP = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?Z$/;

/** The local time as if it were UTC. */
function parseLocal(stamp: string): number | undefined {
  const match = STAMP.exec(stamp.slice(0, 64));
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined; // no such day
  const fractionMs = match[7] === undefined ? 0 : Number(`0.${match[7]}`) * 1_000;
  return date.setUTCHours(hour, minute, second, 0) + Math.floor(fractionMs);
}
