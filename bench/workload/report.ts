import { sum } from '../../src/core/sum';
import { percentile } from '../../test/support/percentile';
import { median } from '../nri/figures';
import type { Scenario } from './scenarios';
import type { Visit } from './visit';

/** The visits of each scenario, one a round. */
export type Visits = ReadonlyMap<Scenario, readonly Visit[]>;

type Measure = (visit: Visit) => number;

const response =
  (share: number): Measure =>
  ({ responseMs }) =>
    percentile(responseMs, share);

const RESPONSES: readonly (readonly [string, Measure])[] = [
  ['response time p50, ms', response(0.5)],
  ['p99, ms', response(0.99)],
  ['p99.9, ms', response(0.999)],
  ['longest, ms', response(1)],
];

/** They tell how quiet the machine was. */
const OTHERS: readonly (readonly [string, Measure])[] = [
  ['taken by programs of the host on its CPUs, % of one CPU', ({ outside }) => outside * 100],
  ['taken by the hypervisor, % of CPU time', ({ steal }) => steal * 100],
];

const workOf = (whole: number): readonly [string, Measure] => [
  'throughput without pauses, % of an undisturbed CPU',
  ({ unitsPerSecond }) => (unitsPerSecond / whole) * 100,
];

/** @param whole units a second of a whole CPU */
export const neighboursTable = (visits: Visits, whole: number): string =>
  formatTable(visits, [
    ...RESPONSES,
    workOf(whole),
    [
      'throughput of the neighbours while it answers requests, CPUs',
      ({ neighbours }) => neighbours.besideRequests / whole,
    ],
    [
      'throughput of the neighbours while it works without pauses, CPUs',
      ({ neighbours }) => neighbours.besideWork / whole,
    ],
    ...OTHERS,
  ]);

/** @param whole as above */
export const interruptsTable = (visits: Visits, whole: number): string =>
  formatTable(visits, [
    ...RESPONSES,
    workOf(whole),
    ['interrupts of devices a second on its CPU', ({ interrupts }) => sum([...interrupts.values()])],
    ...OTHERS,
  ]);

export const ownThreadsTable = (visits: Visits): string =>
  formatTable(visits, [...RESPONSES, ['throttled, % of periods', ({ throttled }) => throttled * 100], ...OTHERS]);

/** A table in Markdown: a column for each scenario; the median of all rounds, with the least and the most. */
function formatTable(visits: Visits, measures: readonly (readonly [string, Measure])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rows = measures.map(([what, measure]) =>
    row([what, ...[...visits.values()].map((rounds) => formatCell(rounds.map(measure)))]),
  );
  const head = ['', ...[...visits.keys()].map(({ name }) => name)];
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows].join('\n');
}

function formatCell(values: readonly number[]): string {
  const [middle, least, most] = [median(values), percentile(values, 0), percentile(values, 1)].map(formatNumber);
  return least === most ? middle! : `${middle} (${least} to ${most})`;
}

/** Two or three digits: the figures are not more exact. */
function formatNumber(value: number): string {
  const digits = Math.abs(value) >= 10 ? 0 : Math.abs(value) >= 1 ? 1 : 2;
  return value === 0 ? '0' : value.toFixed(digits);
}

/** Interrupts that came to the CPUs of the service at least ten times a second, most frequent first. */
export function listFrequent(rounds: readonly Visit[]): string[] {
  const names = new Set(rounds.flatMap(({ interrupts }) => [...interrupts.keys()]));
  return [...names]
    .map((name) => ({ name, rate: median(rounds.map(({ interrupts }) => interrupts.get(name) ?? 0)) }))
    .filter(({ rate }) => rate >= 10)
    .sort((a, b) => b.rate - a.rate)
    .map(({ name, rate }) => `${name} ${rate.toFixed(0)} times a second`);
}
