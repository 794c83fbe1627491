import { isJsonObject } from '../../core/json-object';
import { wellFormed } from '../../core/show-text';

/**
 * The version of the format. A reader takes records of kinds that it does not know, so a new kind needs no new version.
 */
export const JOURNAL_VERSION = 1;

/** The kind of event. The first ones are the kinds of `DomainEvent`. */
export const JOURNAL_KINDS = [
  'pinned',
  'switched',
  'not-switched',
  'shares',
  'left-alone',
  'annotation-ignored',
  'planned',
  'released',
  'idle',
  'restored',
  'found-unpinned',
  'container-gone',
  'drifted',
  'refused',
  'online-cpus-changed',
  'cpu-bound-changed',
  // Options were changed without a restart.
  'settings-changed',
  // Other containers were moved for the reason in the record before.
  'moved',
  'repaired',
  'repair-failed',
  'gap',
  'alarm',
  'alarm-over',
  // A start, with the options in force and the machine.
  'settings',
  'stopped',
  // An event that decisions follow from, for `cpusetd replay`. See recorded-input.ts.
  'input',
  // A namespace had more records than a namespace may have; this number is not in the journal.
  'left-out',
] as const;

export type JournalKind = (typeof JOURNAL_KINDS)[number];

/**
 * One thing that happened. Beside the fields that are named here it has the facts of its kind, as the log line has
 * them.
 */
export interface JournalRecord {
  /** RFC 3339. */
  readonly at: string;
  /** A `JournalKind`, or a kind that another version wrote. */
  readonly kind: string;
  readonly podUid?: string;
  /** `namespace/name`. */
  readonly pod?: string;
  readonly container?: string;
  readonly containerId?: string;
  /** In the kernel's list format. */
  readonly cpus?: string;
  /** Written for the operator. */
  readonly because?: string;
  readonly [fact: string]: unknown;
}

/** A record before it is written: CPU sets and other values with `toJSON` are facts too. */
export interface NewRecord {
  readonly kind: JournalKind;
  /** Absent = now. */
  readonly at?: string;
  readonly [fact: string]: unknown;
}

/**
 * Longest line, in bytes: that of a machine of some thousand CPUs. Names and reasons are bounded where they are made;
 * what is longer all the same loses its facts.
 */
export const MAX_LINE_BYTES = 40 * 1024;

/**
 * The first line of each file of a journal. `preambleBytes`: length of the lines after it that are of use only
 * together.
 */
export function encodeHeader({
  writtenBy,
  at,
  preambleBytes,
}: {
  readonly writtenBy: string;
  readonly at: string;
  readonly preambleBytes: number;
}): string {
  const preamble = preambleBytes > 0 && { preambleBytes };
  return `${JSON.stringify({ journal: JOURNAL_VERSION, writtenBy: `cpusetd ${writtenBy}`, at, ...preamble })}\n`;
}

/** A record as a line of JSON. CPU sets become texts. */
export function encodeRecord(record: NewRecord & { readonly at: string }): string {
  const line = `${wellFormed(JSON.stringify(record))}\n`;
  if (Buffer.byteLength(line) <= MAX_LINE_BYTES) return line;
  const { at, kind } = record;
  return `${JSON.stringify({ at, kind, because: 'the record was too long, and its facts were left out' })}\n`;
}

/** A line of a journal. */
export type JournalLine =
  | {
      readonly kind: 'header';
      readonly version: number;
      readonly writtenBy: string;
      readonly atMs: number;
      readonly preambleBytes: number;
    }
  | { readonly kind: 'record'; readonly record: JournalRecord }
  /** Cut off by a crash, or not of ours. */
  | { readonly kind: 'unreadable' };

const TEXTS = ['podUid', 'pod', 'container', 'containerId', 'cpus', 'because'];

/** Reads one line without its end. Never throws, whatever the text. */
export function decodeLine(line: string): JournalLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: 'unreadable' };
  }
  if (!isJsonObject(value)) return { kind: 'unreadable' };
  const { journal, writtenBy, at, kind, preambleBytes } = value;
  const atMs = typeof at === 'string' ? Date.parse(at) : NaN;
  if (Number.isNaN(atMs)) return { kind: 'unreadable' };
  if (typeof journal === 'number' && typeof writtenBy === 'string')
    return {
      kind: 'header',
      version: journal,
      writtenBy,
      atMs,
      preambleBytes: typeof preambleBytes === 'number' ? preambleBytes : 0,
    };
  const isRecord =
    typeof kind === 'string' && TEXTS.every((name) => value[name] === undefined || typeof value[name] === 'string');
  return isRecord ? { kind: 'record', record: value as unknown as JournalRecord } : { kind: 'unreadable' };
}
