import { compareTexts, formatTime } from '../../core/text';
import { showText } from '../../core/show-text';
import { formatTable } from '../format/table';
import type { Terminal } from '../format/terminal';
import { wrap } from '../format/width';
import type { Use } from '../../admin/machine/machine-view';
import type { AssignmentStatus } from '../../admin/model/status';
import { USES } from '../cpu/format-cpu';
import { formatCpus } from '../status/status-table';
import type { ContainerThen, NodeThen } from './node-at';

const PLACEMENTS: readonly string[] = ['exclusive', 'immovable', 'numa', 'shared', 'left-alone'];
const MAX_LENGTH = 8_192;

/** A node as it was, as text. `isWhole`: not only some pods were asked for, so the CPUs of the node are shown. */
export function formatNodeAt(
  then: Omit<NodeThen, 'topology'>,
  { isWhole, terminal }: { isWhole: boolean; terminal: Terminal },
): string {
  const { containers, idle, node } = then;
  const sections = [formatHead(then, terminal)];
  const hasExclusive = containers.some(({ placement }) => placement === 'exclusive');
  if (isWhole) sections.push(formatCpus(node, hasExclusive, terminal));
  sections.push(containers.length > 0 ? formatContainers(containers, terminal) : 'No containers.\n');
  if (idle.length > 0)
    sections.push(
      `Idle: CPUs of exited containers and of containers to come, which stay with their pods.\n${formatTable(
        ['POD', 'CONTAINER', 'CPUS', 'SINCE', 'BECAUSE'],
        idle.map((assignment) => [
          `${assignment.namespace}/${assignment.pod}`,
          assignment.container,
          assignment.cpus.toString(),
          formatTime(assignment.since),
          assignment.because,
        ]),
        { terminal },
      )}`,
    );
  return sections.join('\n');
}

/** The owner of a CPU at that time. */
export function formatOwnerAt(
  then: Omit<NodeThen, 'topology'>,
  {
    cpu,
    use,
    owners,
    terminal,
  }: {
    readonly cpu: number;
    readonly use: Use;
    readonly owners: readonly AssignmentStatus[];
    readonly terminal: Terminal;
  },
): string {
  const rows = owners.map((owner) => [
    `${owner.namespace}/${owner.pod}`,
    owner.container,
    owner.cpus.toString(),
    formatTime(owner.since),
    owner.because,
  ]);
  const table = formatTable(['POD', 'CONTAINER', 'CPUS', 'SINCE', 'BECAUSE'], rows, { terminal });
  return [formatHead(then, terminal), `CPU ${cpu}: ${USES[use]}\n`, ...(rows.length > 0 ? [table] : [])].join('\n');
}

/** The time, what is known of cpusetd then, and how far the journal can be trusted. */
export function formatHead(then: Omit<NodeThen, 'topology'>, { width }: Terminal): string {
  const { at, lastRecordAt, version, away, alarms, doubts } = then;
  const lines = [
    `${formatTime(at)}, by the journal, whose last record before is of ${formatTime(lastRecordAt)}. It has decisions and drifts, and no other readings of the kernel.`,
    `cpusetd ${version} ${away === undefined ? 'ran' : `did not run: ${away}`}.`,
    ...alarms.map(({ since, alarm, because }) => `Alarm ${alarm} since ${formatTime(since)}: ${because}`),
    ...doubts.map((doubt) => `Not all is known: ${doubt}.`),
  ];
  return lines
    .flatMap((line) => {
      const shown = showText(line, MAX_LENGTH);
      return width === undefined ? [shown] : wrap(shown, width);
    })
    .map((line) => `${line}\n`)
    .join('');
}

function formatContainers(containers: readonly ContainerThen[], terminal: Terminal): string {
  const nameOf = ({ namespace, pod, container }: ContainerThen): string => `${namespace}/${pod}/${container}`;
  const sorted = [...containers].sort(
    (a, b) =>
      PLACEMENTS.indexOf(a.placement) - PLACEMENTS.indexOf(b.placement) ||
      compareTexts(nameOf(a), nameOf(b)) ||
      compareTexts(a.id, b.id),
  );
  const hasDrifts = sorted.some(({ drifted }) => drifted);
  return formatTable(
    ['POD', 'CONTAINER', 'PLACEMENT', 'PROMISED', ...(hasDrifts ? ['DRIFTED'] : []), 'BECAUSE'],
    sorted.map((each) => [
      `${each.namespace}/${each.pod}`,
      each.container,
      each.placement,
      each.promise?.cpus.toString() ?? '',
      ...(hasDrifts ? [each.drifted ? `to ${each.drifted.found}, ${formatTime(each.drifted.at)}` : ''] : []),
      each.because,
    ]),
    { terminal },
  );
}
