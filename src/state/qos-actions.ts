import type { Throttle } from '../qos/avoidance/situation';
import { decodeVersioned, type NoteFormat } from './durable-note';
import { Fields, ShapeError } from './fields';

const VERSION = 1;
/** Some thousand containers, of about 400 bytes each, and the times of an hour. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Everything that has to be undone, and what the budget of the hour was spent on. */
export interface QosActions {
  /** The boot that the containers belong to. */
  readonly bootId: string;
  /** The Node has the taint, or is about to get it. A taint outlives a boot. */
  readonly tainted: boolean;
  readonly throttles: readonly Throttle[];
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
  const lines = throttles.map((throttle) => JSON.stringify(throttle));
  const head = JSON.stringify({ version: VERSION, ...rest }).slice(0, -1);
  return `${head},"throttles":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}

function toActions(document: Fields): QosActions {
  return {
    bootId: document.text('bootId'),
    tainted: document.flag('tainted'),
    throttles: document.list('throttles').map((entry) => toThrottle(new Fields(entry, 'the container'))),
    actionsAtMs: toTimes(document, 'actionsAtMs'),
    evictionsAtMs: toTimes(document, 'evictionsAtMs'),
  };
}

function toThrottle(fields: Fields): Throttle {
  const throttle: Throttle = {
    id: fields.text('id'),
    podUid: fields.text('podUid'),
    namespace: fields.text('namespace'),
    pod: fields.text('pod'),
    container: fields.text('container'),
    periodUs: fields.number('periodUs'),
    originalUs: fields.number('originalUs'),
    ...(fields.has('limitMilliCpu') && { limitMilliCpu: fields.count('limitMilliCpu') }),
    quotaUs: fields.number('quotaUs'),
    previousUs: fields.number('previousUs'),
    ...(fields.has('baseMilliCpu') && { baseMilliCpu: fields.count('baseMilliCpu') }),
    causes: fields.list('causes').map((entry) => {
      const cause = new Fields(entry, 'the cause');
      return { rule: cause.text('rule'), action: cause.text('action') };
    }),
    sinceMs: fields.count('sinceMs'),
  };
  if (throttle.id === '') throw new ShapeError('"id" is empty');
  for (const name of ['originalUs', 'quotaUs', 'previousUs'] as const)
    if (throttle[name] !== -1 && !isPositive(throttle[name])) throw new ShapeError(`"${name}" is not a quota`);
  if (!isPositive(throttle.periodUs)) throw new ShapeError('"periodUs" is not a period');
  return throttle;
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
