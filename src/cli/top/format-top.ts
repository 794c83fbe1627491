import { levelOf } from '../../admin/summary/promises';
import { CpuSet } from '../../core/cpuset';
import { showText } from '../../core/show-text';
import { formatCpuShare, formatPercent, plural } from '../../core/text';
import type { VerdictKind } from '../../core/verdict/judge';
import { formatTable, formatTime } from '../format/table';
import { PLAIN, type Terminal, type Tone } from '../format/terminal';
import { wrap } from '../format/width';
import { SORT_KEYS, sortTop, type Order } from './sort-top';
import type { Top, TopContainer } from './top';

export interface TopTextOptions {
  readonly order: Order;
  readonly terminal?: Terminal;
  /** Most lines of the text; absent: as many as there are. What has no room is counted. */
  readonly lines?: number;
  /** A line names the keys that are obeyed. */
  readonly hasKeys?: boolean;
}

const KEYS_HELP = `sort by ${Object.entries(SORT_KEYS)
  .map(([name, key]) => `${key} ${name}`)
  .join(', ')}; r reverse; q quit`;

/** The containers as text: facts of the reading, then a line for each container. */
export function formatTop(top: Top, { order, terminal = PLAIN, lines, hasKeys = false }: TopTextOptions): string {
  const { width, paint } = terminal;
  const fold = (text: string): readonly string[] => {
    const shown = showText(text);
    return width === undefined ? [shown] : wrap(shown, width);
  };
  const head = [
    ...describe(top, order).flatMap(fold),
    ...(hasKeys ? fold(KEYS_HELP).map((line) => paint(line, 'dim')) : []),
    '',
  ].map((line) => `${line}\n`);
  if (top.containers.length === 0) return `${head.join('')}No container has CPUs of its own.\n`;
  const room = lines === undefined ? Infinity : Math.max(1, lines - head.length - 1);
  const sorted = sortTop(top.containers, order);
  const shown = sorted.length <= room ? sorted : sorted.slice(0, Math.max(1, room - 1));
  const columns = COLUMNS.filter(([, , leastWidth = 0]) => (width ?? Infinity) >= leastWidth);
  const table = formatTable(
    columns.map(([title]) => title),
    shown.map((container) => columns.map(([, valueOf]) => valueOf(container) || '-')),
    { terminal, toneOf, shortened: 3 },
  );
  const rest = sorted.length - shown.length;
  return `${head.join('')}${table}${rest > 0 ? `… ${rest} more; enlarge the window, or sort in another order\n` : ''}`;
}

function describe({ nodeName, at, seconds, busyMs, containers }: Top, { by, isReversed }: Order): readonly string[] {
  const cpus = CpuSet.unionOf(containers.map((container) => container.cpus)).size;
  const known = containers.flatMap(({ usedMilliCpu }) => (usedMilliCpu === undefined ? [] : [usedMilliCpu]));
  const used = known.reduce((sum, each) => sum + each, 0);
  const owned = `${plural(containers.length, 'container')} with ${plural(cpus, 'CPU')} of ${containers.length === 1 ? 'its' : 'their'} own`;
  return [
    `${nodeName === undefined ? 'this node' : `node ${nodeName}`}, ${formatTime(at)}: ${owned}${known.length > 0 ? `, ${formatCpuShare(Math.round(used))} used` : ''}`,
    `${seconds === undefined ? 'first reading: figures follow' : `over ${Number(seconds.toFixed(1))} s`}, read from the kernel by this command in ${Math.round(busyMs)} ms; ` +
      `sorted by ${by}${isReversed ? ', reversed' : ''}`,
  ];
}

/** `leastWidth`: the column is left out in a terminal that is narrower. */
type Column = readonly [title: string, valueOf: (item: TopContainer) => string, leastWidth?: number];

const COLUMNS: readonly Column[] = [
  ['POD', ({ namespace, pod }) => `${namespace}/${pod}`],
  ['CONTAINER', ({ container }) => container],
  ['CPUS', ({ cpus }) => cpus.toString()],
  ['USED', ({ usedPercent }) => percent(usedPercent)],
  ['WAIT', ({ waitMsPerSecond: ms }) => (ms === undefined ? '' : `${round(ms)} ms/s`)],
  ['THROTTLED', ({ throttledPercent }) => percent(throttledPercent)],
  ['OTHERS', ({ foreign }) => percent(foreign?.percent)],
  ['MOST', ({ foreign }) => foreign?.most ?? '', 100],
  ['VERDICT', ({ verdict }) => verdict.kind],
];

function percent(value: number | undefined): string {
  return value === undefined ? '' : formatPercent(value);
}

/** Three digits are enough to compare. */
function round(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toFixed(1));
}

const VERDICT_TONES = { ok: 'good', warning: 'warning', error: 'bad' } as const;

function toneOf(cell: string, title: string): Tone | undefined {
  if (title === 'VERDICT') return VERDICT_TONES[levelOf(cell as VerdictKind)];
  if (cell === '-') return 'dim';
  return title === 'OTHERS' && Number.parseFloat(cell) >= 1 ? 'warning' : undefined;
}
