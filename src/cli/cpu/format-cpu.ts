import type { Use } from '../../admin/machine/machine-view';
import { cellsOf, EVENT_COLUMNS } from '../../state/journal';
import { showText } from '../../core/show-text';
import { formatPercent, formatTime, plural } from '../../core/text';
import { toneOfEvent } from '../events/event-tone';
import { formatTable } from '../format/table';
import type { Terminal } from '../format/terminal';
import { wrap } from '../format/width';
import type { CpuOwner, CpuReport, RunsNow } from './look-at-cpu';

/** The use of a CPU, in words. */
export const USES: Readonly<Record<Use, string>> = {
  static: 'exclusive',
  exclusive: "exclusive, by Crane's policy of that name",
  immovable: 'immovable: containers of the shared pool run there too',
  numa: 'shared on its NUMA node',
  idle: 'idle: it stays with the pod of a container that exited, or is still to come',
  reserved: 'reserved for the system',
  shared: 'in the shared pool: it belongs to nobody',
  offline: 'offline',
  barred: "online, and the cgroups of this node's pods do not have it",
};

const NAME_WIDTH = 10;
/** Most of those that ran there. */
const MAX_RUNNERS = 10;

/**
 * The report about a CPU as text: its place, its owner with the reason, the programs that run there now, and its last
 * owners.
 */
export function formatCpu(report: CpuReport, terminal: Terminal): string {
  const { cpu, nodeName, use, place, siblings, owners, idle } = report;
  const where = place
    ? `core ${place.core}, socket ${place.socket}, NUMA node ${place.numaNode}${siblings.isEmpty ? '' : `, beside CPU ${siblings.toString()} of its core`}`
    : 'not online';
  const facts: (readonly [string, string])[] = [
    [`CPU ${cpu}`, `${USES[use]}${nodeName === undefined ? '' : `; node ${nodeName}`}`],
    ['place', where],
    ...owners.flatMap(describeOwner),
    ...idle.map(
      (owner) =>
        [
          'idle',
          `of ${owner.namespace}/${owner.pod} ${owner.container} since ${formatTime(owner.since)}: ${owner.because}`,
        ] as const,
    ),
    ['now', describeNow(report.now, owners.length > 0)],
  ];
  return [formatFacts(facts, terminal), ...formatRunners(report.now, terminal), formatHistory(report, terminal)].join(
    '\n',
  );
}

function describeOwner({
  namespace,
  pod,
  container,
  promised,
  observation,
  verdict,
  because,
  since,
  drift,
}: CpuOwner): (readonly [string, string])[] {
  const kernel = observation
    ? `the kernel has ${observation.cpus.toString()}, read ${formatTime(observation.at)}`
    : 'the kernel was not read yet';
  const reason = verdict.kind === 'kept' || verdict.reason === '' ? '' : `: ${verdict.reason}`;
  return [
    ['owner', `${namespace}/${pod} ${container}, since ${formatTime(since)}: ${because}`],
    ['promised', `${promised.toString()}; ${kernel}`],
    ['verdict', `${verdict.kind} since ${formatTime(verdict.since)}${reason}`],
    ...(drift
      ? [
          [
            'drifts',
            `${drift.drifts} since cpusetd started, the last ${formatTime(drift.lastAt)}; ${plural(drift.repairs, 'repair')} confirmed`,
          ] as const,
        ]
      : []),
  ];
}

function describeNow(now: RunsNow, hasOwner: boolean): string {
  if (!now.seen) return now.because;
  const busy = now.busyPercent === undefined ? '' : `busy ${formatPercent(now.busyPercent)} of ${now.seconds} s; `;
  const others = now.runners.filter(({ isOwner }) => !isOwner).length;
  return `${busy}${now.runners.length === 0 ? 'nobody was seen to run' : hasOwner ? `${plural(others, 'other')} beside the owner` : `${plural(others, 'program')} ran there`}`;
}

function formatRunners(now: RunsNow, terminal: Terminal): readonly string[] {
  if (!now.seen || now.runners.length === 0) return [];
  const { runners, seconds } = now;
  const more = runners.length > MAX_RUNNERS ? `and ${runners.length - MAX_RUNNERS} more\n` : '';
  const rows = runners
    .slice(0, MAX_RUNNERS)
    .map(({ who, isOwner, kind, containerId, threads, ranMs }) => [
      who,
      isOwner ? 'owner' : containerId !== undefined ? 'container' : kind === 'process' ? 'process' : 'kernel thread',
      String(threads),
      formatPercent((ranMs / (seconds * 1000)) * 100),
    ]);
  return [`${formatTable(['WHO', 'WHAT', 'THREADS', 'USED'], rows, { terminal })}${more}`];
}

function formatHistory({ cpu, history, noHistory }: CpuReport, terminal: Terminal): string {
  if (noHistory !== undefined) return `No history: ${showText(noHistory)}\n`;
  if (history.length === 0) return 'The journal has nothing about it.\n';
  return `The last records about it (cpusetd events --cpu ${cpu} has all):\n${formatTable(
    [...EVENT_COLUMNS],
    history.map((record) => [...cellsOf(record)]),
    { terminal, toneOf: toneOfEvent },
  )}`;
}

function formatFacts(facts: readonly (readonly [string, string])[], { width }: Terminal): string {
  return facts
    .flatMap(([name, text]) => {
      const shown = showText(text);
      const lines = width === undefined ? [shown] : wrap(shown, Math.max(20, width - NAME_WIDTH));
      return lines.map((line, i) => `${(i === 0 ? name : '').padEnd(NAME_WIDTH)}${line}\n`);
    })
    .join('');
}
