import { plural } from '../../core/text';

/** The reasons for which a part of a journal is not in its replay, each with its words: one, and more. */
const REASONS = {
  gap: ['time without records', 'times without records', ' (cpusetd events --kind left-out)'],
  'not-recorded': ['event was not recorded', 'events were not recorded', ' (cpusetd events --kind left-out)'],
  'bad-line': ['line is no record', 'lines are no records', ''],
  'bad-input': ['event or part of a list can’t be read', 'events or parts of lists can’t be read', ''],
  'bad-options': [
    'recorded option can’t be read by this version',
    'recorded options can’t be read by this version',
    '',
  ],
  'bad-rules': ['record of options and machine can’t be read', 'records of options and machine can’t be read', ''],
  'no-rules': [
    'event is older than the first options and machine that are known',
    'events are older than the first options and machine that are known',
    '',
  ],
  'no-beginning': [
    'event is older than the first list of the node, so what ran then is not known',
    'events are older than the first list of the node, so what ran then is not known',
    '',
  ],
  'no-inputs': ['record, and none has the inputs of decisions', 'records, and none has the inputs of decisions', ''],
} as const;

export type LeftOutReason = keyof typeof REASONS;

/** Parts of a journal that a replay lacks. */
export interface LeftOut {
  readonly reason: LeftOutReason;
  readonly count: number;
}

/** In words for the operator. */
export function describeLeftOut({ reason, count }: LeftOut): string {
  const [singular, more, hint] = REASONS[reason];
  return `${plural(count, singular, more)}${hint}`;
}

/** Counts what is left out. */
export class LeftOutCounter {
  private readonly counts = new Map<LeftOutReason, number>();

  add(reason: LeftOutReason, count = 1): void {
    if (count > 0) this.counts.set(reason, (this.counts.get(reason) ?? 0) + count);
  }

  get list(): readonly LeftOut[] {
    return (Object.keys(REASONS) as LeftOutReason[]).flatMap((reason) => {
      const count = this.counts.get(reason);
      return count === undefined ? [] : [{ reason, count }];
    });
  }
}
