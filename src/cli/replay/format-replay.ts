import { plural } from '../../core/text';
import { formatTable, formatTime } from '../format/table';
import { PLAIN, type Terminal } from '../format/terminal';
import type { History, Outcome } from './read-inputs';
import { describeLeftOut } from './left-out';
import { isDifferent, isUnexplained, type Replay, type Request } from './replay';

/** A journal as it was, and under other rules. */
export interface Comparison {
  readonly history: History;
  /** With the recorded options and machine. */
  readonly before: Replay;
  readonly after: Replay;
  /** The differences from the record, as texts: options with their values, and the machine. */
  readonly changes: readonly string[];
}

/** Most requests that the text shows. */
const MAX_ROWS = 100;

/** The result of a comparison, as data. */
export function describeReplay({ history, before, after, changes }: Comparison): object {
  const [first, last] = [history.inputs[0], history.inputs.at(-1)];
  return {
    from: first?.at ?? null,
    to: last?.at ?? null,
    events: history.inputs.length,
    isPartial: isPartial(history),
    leftOut: history.leftOut,
    changes,
    requests: after.requests.length,
    recorded: {
      ...count(after.requests, 'recorded'),
      moved: before.moved,
      ...(before.meanFree && { meanFree: before.meanFree }),
    },
    replayed: {
      ...count(after.requests, 'replayed'),
      moved: after.moved,
      ...(after.meanFree && { meanFree: after.meanFree }),
    },
    different: after.requests.filter(isDifferent),
    unexplained: after.requests.filter(isUnexplained).length,
  };
}

/** True when not all that decisions followed from is known. */
export function isPartial({ leftOut }: History): boolean {
  return leftOut.length > 0;
}

function count(requests: readonly Request[], side: 'recorded' | 'replayed'): Readonly<Record<Outcome['kind'], number>> {
  const countOf = (kind: Outcome['kind']): number => requests.filter((each) => each[side].kind === kind).length;
  return { pinned: countOf('pinned'), refused: countOf('refused'), shares: countOf('shares') };
}

/** The same as text. */
export function formatReplay(comparison: Comparison, terminal: Terminal = PLAIN): string {
  const { history, before, after, changes } = comparison;
  const [first, last] = [history.inputs[0], history.inputs.at(-1)];
  const partial = isPartial(history)
    ? `Not all of the journal is in the figures, so they are not exact:\n${history.leftOut.map((each) => `- ${describeLeftOut(each)}\n`).join('')}`
    : '';
  if (!first || !last) return `Nothing to replay.\n${partial}`;
  if (!before.view) return `Nothing was decided again: no options and machine can be read.\n${partial}`;
  const machine = after.view ? `, ${plural(after.view.topology.online.size, 'CPU')}` : '';
  const title = `${plural(after.requests.length, 'request')} from ${formatTime(first.at)} to ${formatTime(last.at)}${machine}\n`;
  const rules = `Replayed ${changes.length === 0 ? 'with the recorded options, on the recorded machine' : `with ${changes.join(', ')}`}.\n`;
  const [recorded, replayed] = [count(after.requests, 'recorded'), count(after.requests, 'replayed')];
  const rows = [
    ['pinned', String(recorded.pinned), String(replayed.pinned)],
    ['refused', String(recorded.refused), String(replayed.refused)],
    ['sharing', String(recorded.shares), String(replayed.shares)],
    ['moved for others', String(before.moved), String(after.moved)],
    ...listMeans(before, after),
  ];
  const different = after.requests.filter(isDifferent);
  const unexplained = after.requests.filter(isUnexplained).length;
  const where = isPartial(history) ? ' where all was known' : '';
  const unknown =
    unexplained === 0
      ? ''
      : `${plural(unexplained, 'request', 'requests')} came out otherwise where it was not: that says nothing.\n`;
  const differences =
    different.length === 0
      ? `No request has another outcome${where}.\n`
      : `${plural(different.length, 'request has', 'requests have')} another outcome${where}:\n${formatTable(
          ['TIME', 'POD', 'CONTAINER', 'RECORDED', 'REPLAYED', 'BECAUSE'],
          different
            .slice(0, MAX_ROWS)
            .map(({ at, pod, container, recorded: then, replayed: now }) => [
              formatTime(at),
              pod,
              container,
              describe(then),
              describe(now),
              now.because ?? '',
            ]),
          { terminal },
        )}${different.length > MAX_ROWS ? `and ${different.length - MAX_ROWS} more: -o json has all\n` : ''}`;
  return [
    `${title}${rules}${partial}`,
    formatTable(['', 'RECORDED', 'REPLAYED'], rows, { terminal }),
    `${differences}${unknown}`,
  ].join('\n');
}

function listMeans({ meanFree: then }: Replay, { meanFree: now }: Replay): readonly (readonly string[])[] {
  if (!then || !now) return [];
  const show = (value: number): string => value.toFixed(1);
  const percent = (value: number): string => `${Math.round(value * 100)} %`;
  return [
    ['free CPUs, mean', show(then.cpus), show(now.cpus)],
    ['free whole cores, mean', show(then.cores), show(now.cores)],
    ['free CPUs in one NUMA node at most, mean', show(then.largestInNode), show(now.largestInNode)],
    ['free CPUs in broken cores, mean', percent(then.fragmentation), percent(now.fragmentation)],
  ];
}

function describe(outcome: Outcome): string {
  return outcome.kind === 'pinned' ? outcome.cpus : outcome.kind;
}
