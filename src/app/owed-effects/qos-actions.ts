import type { Throttle } from '../../qos/avoidance/situation';
import { Fields, noteFormat, ShapeError } from '../../state';

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
  readonly actions: readonly SpentAction[];
  /** Those of the actions that are evictions. */
  readonly evictions: readonly SpentAction[];
  /**
   * The time at which an earlier note was found to be lost: what was spent in the hour before is not known. ms since
   * 1970.
   */
  readonly lostAtMs?: number;
  /** That note may have listed throttles, and nothing has been undone for it yet. */
  readonly owesUnknown?: boolean;
}

/** An action that was taken. */
export interface SpentAction {
  /** ms since 1970. */
  readonly atMs: number;
  /** Of the pod that it hit; empty for the Node, and where it is not known. */
  readonly namespace: string;
}

/** One container a line. A file with one wrong entry is none of ours. */
export const qosActionsFormat = noteFormat<QosActions>({
  version: VERSION,
  maxBytes: MAX_BYTES,
  encode,
  read: toActions,
});

/** Earlier versions read the times alone, so the namespaces stand beside them. */
function encode({ throttles, actions, evictions, ...rest }: QosActions): string {
  const lines = throttles.map((throttle) => JSON.stringify(throttle));
  const timesOf = (spent: readonly SpentAction[]): readonly number[] => spent.map(({ atMs }) => atMs);
  const namespacesOf = (spent: readonly SpentAction[]): readonly string[] => spent.map(({ namespace }) => namespace);
  const spent = {
    actionsAtMs: timesOf(actions),
    actionsOf: namespacesOf(actions),
    evictionsAtMs: timesOf(evictions),
    evictionsOf: namespacesOf(evictions),
  };
  const head = JSON.stringify({ version: VERSION, ...rest, ...spent }).slice(0, -1);
  return `${head},"throttles":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}

function toActions(document: Fields): QosActions {
  return {
    bootId: document.text('bootId'),
    tainted: document.flag('tainted'),
    throttles: document.list('throttles').map((entry) => toThrottle(new Fields(entry, 'the container'))),
    actions: toSpent(document, 'actionsAtMs', 'actionsOf'),
    evictions: toSpent(document, 'evictionsAtMs', 'evictionsOf'),
    ...(document.has('lostAtMs') && { lostAtMs: document.count('lostAtMs') }),
    ...(document.has('owesUnknown') && { owesUnknown: document.flag('owesUnknown') }),
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

function toSpent(document: Fields, times: string, namespaces: string): readonly SpentAction[] {
  const atMs = document.list(times);
  if (!atMs.every((time): time is number => typeof time === 'number' && Number.isFinite(time)))
    throw new ShapeError(`"${times}" is not a list of times`);
  const names = document.has(namespaces) ? document.texts(namespaces) : [];
  const isOfThese = names.length === atMs.length;
  return atMs.map((time, at) => ({ atMs: time, namespace: (isOfThese ? names[at] : undefined) ?? '' }));
}
