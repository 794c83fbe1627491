import { decodeVersioned, type NoteFormat } from './durable-note';
import { Fields, ShapeError } from './fields';

const VERSION = 1;
/** Some thousand containers, of about 400 bytes each, and the times of an hour. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A container whose CFS quota was lowered. */
export interface ThrottleRecord {
  readonly containerId: string;
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Its quota before: -1 = no limit. The period is not changed. */
  readonly originalQuotaUs: number;
  readonly periodUs: number;
  /** Its quota since the last step. */
  readonly quotaUs: number;
  /** Its use at the first step in thousandths of a CPU, from which the least quota of a container without limit follows. */
  readonly baseMilliCpu: number;
  /** `<nodeqos>/<rule>` of the last step. */
  readonly rule: string;
  readonly because: string;
  /** Time of the first step, RFC 3339. */
  readonly since: string;
}

/** Everything that has to be undone, and what the budget of the hour was spent on. */
export interface QosActions {
  /** The boot that the containers belong to. */
  readonly bootId: string;
  /** The Node has the taint, or is about to get it. A taint outlives a boot. */
  readonly tainted: boolean;
  readonly throttles: readonly ThrottleRecord[];
  /** Times of the actions, in ms since 1970. */
  readonly actionsAtMs: readonly number[];
  readonly evictionsAtMs: readonly number[];
}

/** One container a line. A file with one wrong entry is none of ours. */
export const qosActionsFormat: NoteFormat<QosActions> = {
  encode,
  decode: (text) => decodeVersioned(text, VERSION, toActions),
  maxBytes: MAX_BYTES,
};

function encode({ throttles, ...rest }: QosActions): string {
  const lines = throttles.map((record) => JSON.stringify(record));
  const head = JSON.stringify({ version: VERSION, ...rest }).slice(0, -1);
  return `${head},"throttles":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}

function toActions(document: Fields): QosActions {
  return {
    bootId: document.text('bootId'),
    tainted: document.flag('tainted'),
    throttles: document.list('throttles').map((entry) => toRecord(new Fields(entry, 'the container'))),
    actionsAtMs: toTimes(document, 'actionsAtMs'),
    evictionsAtMs: toTimes(document, 'evictionsAtMs'),
  };
}

function toRecord(fields: Fields): ThrottleRecord {
  const record: ThrottleRecord = {
    containerId: fields.text('containerId'),
    podUid: fields.text('podUid'),
    namespace: fields.text('namespace'),
    pod: fields.text('pod'),
    container: fields.text('container'),
    originalQuotaUs: fields.number('originalQuotaUs'),
    periodUs: fields.number('periodUs'),
    quotaUs: fields.number('quotaUs'),
    baseMilliCpu: fields.count('baseMilliCpu'),
    rule: fields.text('rule'),
    because: fields.text('because'),
    since: fields.text('since'),
  };
  if (record.containerId === '') throw new ShapeError('"containerId" is empty');
  if (!Number.isInteger(record.originalQuotaUs) || record.originalQuotaUs < -1 || record.originalQuotaUs === 0)
    throw new ShapeError('"originalQuotaUs" is not a quota');
  if (!isPositive(record.quotaUs)) throw new ShapeError('"quotaUs" is not a quota');
  if (!isPositive(record.periodUs)) throw new ShapeError('"periodUs" is not a period');
  return record;
}

function isPositive(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function toTimes(document: Fields, name: string): readonly number[] {
  const times = document.list(name);
  if (!times.every((time): time is number => typeof time === 'number' && Number.isFinite(time)))
    throw new ShapeError(`"${name}" is not a list of times`);
  return times;
}
