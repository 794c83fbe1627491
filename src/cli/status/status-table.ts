import type {
  ContainerStatus,
  IdleAssignment,
  Observation,
  QuotaPromise,
  Refused,
  Status,
} from '../../admin/model/status';
import type { NodeCpus } from '../../app/status/show-node';
import type { Rules } from '../../core/model/assignment';
import { showText } from '../../core/show-text';
import { formatPercent, plural } from '../../core/text';
import type { VerdictKind } from '../../core/verdict/judge';
import { formatTable, formatTime } from '../format/table';
import { PLAIN, type Terminal, type Tone } from '../format/terminal';
import { wrap } from '../format/width';
import type { Level } from '../../admin/summary/part-summary';
import { KEPT_BY_API_SERVER } from '../../admin/summary/peers';
import { EXCLUSIVE_MEANS, levelOf, nameRefused } from '../../admin/summary/promises';
import { summarize } from '../../admin/summary/summarize';

export interface StatusTableOptions {
  readonly terminal?: Terminal;
  /** All columns, however wide. */
  readonly isWide?: boolean;
  /** Only some containers were asked for: the node is left out. */
  readonly isFiltered?: boolean;
}

/** The status as text: a summary of the node, its CPUs, its containers, and idle CPUs of pods. */
export function formatStatusTable({ node, containers, idle }: Status, options: StatusTableOptions = {}): string {
  const { terminal = PLAIN, isWide = false, isFiltered = false } = options;
  const table = { terminal: isWide ? { paint: terminal.paint } : terminal, toneOf };
  const sections: string[] = [];
  const showsUids = isWide || hasTwins([...containers, ...idle]);
  if (!isFiltered)
    sections.push(
      formatSummary({ node, containers, idle }, terminal),
      formatCpus(node, hasExclusive(containers), terminal),
    );
  // There is one for each pod, and nothing is to be said of most of them.
  const quiet = isWide ? [] : containers.filter(({ pause, verdict }) => pause && verdict.kind === 'kept');
  const shown = containers.filter((container) => !quiet.includes(container));
  const others =
    quiet.length > 0
      ? `${plural(quiet.length, 'pause container is', 'pause containers are')} kept too (-o wide).\n`
      : '';
  if (shown.length > 0)
    sections.push(`${formatContainers(shown, { isWide, showsUids }, table)}${others && `\n${others}`}`);
  else if (others !== '') sections.push(others);
  else if (!isFiltered || (idle.length === 0 && !node.refused))
    sections.push(isFiltered ? 'No such containers.\n' : 'No containers.\n');
  if (isFiltered && node.refused) sections.push(formatRefused(node.refused, terminal));
  if (idle.length > 0) {
    const title = `Idle: CPUs of exited containers, which stay with their pods${idle.some(({ planned }) => planned) ? ', and of containers to come' : ''}.`;
    sections.push(
      `${title}\n${formatTable(
        [
          'POD',
          'CONTAINER',
          'POLICY',
          'CPUS',
          ...(isWide ? ['SINCE'] : []),
          ...(showsUids ? ['POD UID'] : []),
          'BECAUSE',
        ],
        idle.map((assignment) => [
          `${assignment.namespace}/${assignment.pod}`,
          assignment.container,
          formatPolicy(assignment.rules),
          assignment.cpus.toString(),
          ...(isWide ? [formatTime(assignment.since)] : []),
          ...(showsUids ? [assignment.podUid] : []),
          whyIdle(assignment),
        ]),
        table,
      )}`,
    );
  }
  return sections.join('\n');
}

function formatRefused({ containers, latest }: Refused, { width }: Terminal): string {
  const rest = containers > latest.length ? [`and ${containers - latest.length} more`] : [];
  const lines = [...latest.map(nameRefused), ...rest].flatMap((line) => {
    const shown = showText(line, MAX_FACT_LENGTH);
    return width === undefined ? [shown] : wrap(shown, width);
  });
  return `Refused, and not served since (cpusetd explain POD has more):\n${lines.map((line) => `${line}\n`).join('')}`;
}

function whyIdle({ planned, keptByApiServer, because }: IdleAssignment): string {
  if (planned) return `planned, not created yet: ${because}`;
  return keptByApiServer ? `${KEPT_BY_API_SERVER}; ${because}` : because;
}

/** True when two pods have one namespace and name: then their uids tell them apart. */
function hasTwins(
  all: readonly { readonly namespace: string; readonly pod: string; readonly podUid: string }[],
): boolean {
  const names = new Map<string, string>();
  return all.some(({ namespace, pod, podUid }) => {
    const name = `${namespace}/${pod}`;
    const known = names.get(name) ?? podUid;
    names.set(name, known);
    return known !== podUid;
  });
}

/** Longest text of a part: a gap names containers, alarms and reasons are sentences. */
const MAX_FACT_LENGTH = 8_192;
const TONES: Readonly<Record<Level, Tone>> = { ok: 'good', warning: 'warning', error: 'bad' };
const PART_WIDTH = 13;
const LEVEL_WIDTH = 9;

function formatSummary(status: Status, { width, paint }: Terminal): string {
  const indent = PART_WIDTH + LEVEL_WIDTH;
  const lines = summarize(status).flatMap(({ part, level, text, remedy }) => {
    const texts = [text, ...(remedy ? [`remedy: ${remedy}`] : [])].flatMap((each) => {
      const shown = showText(each, MAX_FACT_LENGTH);
      return width === undefined ? [shown] : wrap(shown, Math.max(20, width - indent));
    });
    const head = part.padEnd(PART_WIDTH) + paint(level, TONES[level]) + ' '.repeat(LEVEL_WIDTH - level.length);
    return texts.map((line, i) => `${i === 0 ? head : ' '.repeat(indent)}${line}\n`);
  });
  return lines.join('');
}

/** The CPUs of a node, a line for each kind. `hasExclusive`: some are exclusive, so the meaning of that is shown. */
export function formatCpus(node: NodeCpus, hasExclusive: boolean, { width }: Terminal): string {
  const facts: [name: string, text: string][] = [
    ['policy', [node.policy, ...node.policyOptions].join(', ')],
    ['online', node.online.toString()],
    ['barred', node.barred ? `${node.barred.cpus.toString()} (not in the cgroup ${node.barred.by})` : ''],
    ['reserved', node.reserved.toString()],
    ['isolated', node.isolated.toString()],
    ['ignored', (node.ignored ?? []).join('; ')],
    ['shared pool', node.sharedPool.toString()],
    ['exclusive', hasExclusive ? EXCLUSIVE_MEANS : ''],
    ['free', node.free.isEmpty ? 'none' : `${node.free.toString()} (${plural(node.free.size, 'CPU')})`],
  ];
  return facts
    .filter(([, text]) => text !== '')
    .flatMap(([name, text]) => {
      const lines = wrap(
        showText(text, MAX_FACT_LENGTH),
        width === undefined ? Infinity : Math.max(20, width - PART_WIDTH),
      );
      return lines.map((line, i) => `${(i === 0 ? name : '').padEnd(PART_WIDTH)}${line}\n`);
    })
    .join('');
}

function hasExclusive(containers: readonly ContainerStatus[]): boolean {
  return containers.some(({ placement }) => placement === 'exclusive');
}

/** The tone of a verdict. */
function toneOf(cell: string, title: string): Tone | undefined {
  if (title === 'VERDICT') return TONES[levelOf(cell as VerdictKind)];
  return cell === '-' ? 'dim' : undefined;
}

const PLACEMENTS = ['exclusive', 'immovable', 'numa', 'shared', 'left-alone'] as const;

/** `wide`: only where all columns are asked for. `if-any`: only where a container has a value. */
type Column = readonly [
  title: string,
  valueOf: (row: ContainerStatus, isWide: boolean) => string,
  shown?: 'wide' | 'if-any',
];

/** Stands for the CPUs of the column before. */
const SAME = 'same';

const COLUMNS: readonly Column[] = [
  ['POD', (row) => `${row.namespace}/${row.pod}`],
  ['CONTAINER', (row) => row.container],
  ['ID', (row) => row.id.slice(0, 13), 'wide'], // as crictl and docker shorten it
  ['PLACEMENT', (row) => row.placement],
  ['POLICY', (row) => (row.rules ? formatPolicy(row.rules) : ''), 'wide'],
  ['NODES', (row) => row.nodes?.toString() ?? ''],
  ['PROMISED', (row) => row.promise?.cpus.toString() ?? ''],
  ['KERNEL', formatKernel],
  ['MEMS', (row) => row.promise?.mems.toString() ?? '', 'wide'],
  ['VERDICT', (row) => row.verdict.kind],
  ['SINCE', (row) => formatTime(row.verdict.since), 'wide'],
  ['DRIFTS', (row) => formatDrift(row), 'if-any'],
  ['OTHERS', ({ foreign }) => (foreign ? formatPercent(foreign.percent) : ''), 'if-any'],
  ['POD UID', (row) => row.podUid, 'wide'],
  ['BECAUSE', (row) => (row.verdict.kind === 'kept' || row.verdict.reason === '' ? row.because : row.verdict.reason)],
];

function formatContainers(
  containers: readonly ContainerStatus[],
  { isWide, showsUids }: { readonly isWide: boolean; readonly showsUids: boolean },
  table: Parameters<typeof formatTable>[2],
): string {
  const sorted = [...containers].sort(
    (a, b) =>
      Number(a.pause ?? false) - Number(b.pause ?? false) ||
      PLACEMENTS.indexOf(a.placement) - PLACEMENTS.indexOf(b.placement) ||
      compare(nameOf(a), nameOf(b)) ||
      compare(a.id, b.id),
  );
  const columns = COLUMNS.filter(([title, valueOf, when]) => {
    if (when === 'if-any') return containers.some((container) => valueOf(container, isWide) !== '');
    return isWide || when === undefined || (showsUids && title === 'POD UID');
  });
  const rows = sorted.map((container) => columns.map(([, valueOf]) => valueOf(container, isWide)));
  return formatTable(
    columns.map(([title]) => title),
    rows,
    table,
  );
}

/** The policy, and the pod's annotation that chose it if one did. */
function formatPolicy({ policy, chosenBy }: Rules): string {
  return chosenBy === undefined ? policy : `${policy}, by ${chosenBy}`;
}

/** Their number since cpusetd started, and the last one. */
function formatDrift({ drift }: ContainerStatus): string {
  return drift ? `${drift.drifts}, last ${formatTime(drift.lastAt)}` : '';
}

/** The CPUs that were read from the kernel. */
function formatKernel({ observation, promise }: ContainerStatus, isWide: boolean): string {
  if (!observation) return '';
  const text = formatObservation(observation, promise);
  return !isWide && promise && text === promise.cpus.toString() ? SAME : text;
}

/** A reading from before the promise is shown with its time. */
function formatObservation(
  { cpus, effectiveCpus, threads, at }: Observation,
  promise: QuotaPromise | undefined,
): string {
  const narrower = threads && threads.narrower > 0 ? ` [threads ${threads.narrowerCpus.toString()}]` : '';
  const isOlder = promise?.since !== undefined && Date.parse(at) < Date.parse(promise.since);
  const remarks = `${narrower}${isOlder ? ` [read ${formatTime(at)}]` : ''}`;
  if (cpus.equals(effectiveCpus)) return cpus.toString() + remarks;
  return `${cpus.isEmpty ? '' : `${cpus.toString()} `}(${effectiveCpus.toString()})${remarks}`;
}

function nameOf({ namespace, pod, container }: ContainerStatus): string {
  return `${namespace}/${pod}/${container}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
