import type {
  ContainerExplanation,
  Explanation,
  OtherPod,
  RefusedContainer,
  ZoneRoom,
} from '../../admin/model/explanation';
import type { ContainerStatus, IdleAssignment } from '../../admin/model/status';
import { KEPT_BY_API_SERVER } from '../../admin/summary/peers';
import type { AllocationStep } from '../../core/allocation';
import type { Rules } from '../../core/model/assignment';
import { showText } from '../../core/show-text';
import { describeLocation, type Topology } from '../../core/topology';
import { formatTime } from '../format/table';
import { PLAIN, type Terminal } from '../format/terminal';
import { wrap } from '../format/width';
import { plural } from '../../core/text';

/** The explanation as text. @param count the number of CPUs in a what-if query */
export function formatExplanation(
  explanation: Explanation,
  topology: Topology,
  count: number,
  terminal: Terminal = PLAIN,
): string {
  if (explanation.kind === 'what-if') {
    const { fits, cpus, because, steps } = explanation;
    const what = plural(count, 'CPU');
    return formatFacts(
      fits ? `${what} would fit: ${cpus.toString()}` : `${what} would not fit`,
      [['because', because], ['where', describeLocation(topology, cpus)], ...listSteps(steps)],
      terminal,
    );
  }
  return [
    ...explanation.containers.map((container) => formatContainer(container, topology, terminal)),
    ...explanation.idle.map((assignment) => formatIdle(assignment, topology, terminal)),
    ...explanation.refused.map((container) => formatRefused(container, terminal)),
    ...explanation.others.map((other) => formatOther(other, terminal)),
  ].join('\n');
}

/** A fact below a title; without a name it goes on from the one before. */
export type Fact = readonly [name: string, text: string];

function formatContainer(
  { container: container, steps }: ContainerExplanation,
  topology: Topology,
  terminal: Terminal,
): string {
  const cpus = container.promise?.cpus;
  return formatFacts(
    `${container.namespace}/${container.pod} ${container.container}: ${container.placement} ${cpus?.toString() ?? ''}`.trimEnd(),
    [
      ['because', container.because],
      ['where', cpus && container.placement !== 'shared' ? describeLocation(topology, cpus) : ''],
      ['follows', container.nodes ? `NUMA nodes ${container.nodes.toString()}` : ''],
      [
        'memory',
        container.promise && !container.promise.mems.isEmpty ? `NUMA nodes ${container.promise.mems.toString()}` : '',
      ],
      ...listSteps(steps),
      ['rules', container.rules ? formatRules(container.rules) : ''],
      ['verdict', formatVerdict(container)],
      ['since', formatTime(container.since)],
    ],
    terminal,
  );
}

function formatIdle(assignment: IdleAssignment, topology: Topology, terminal: Terminal): string {
  const [state, why] = assignment.planned
    ? ['planned', 'the container was not created yet, and its CPUs are kept for it']
    : [
        'idle',
        assignment.keptByApiServer ? KEPT_BY_API_SERVER : 'the container has exited, and its CPUs stay with its pod',
      ];
  return formatFacts(
    `${assignment.namespace}/${assignment.pod} ${assignment.container}: ${state} ${assignment.cpus.toString()}`.trimEnd(),
    [
      ['because', `${assignment.because}; ${why}`],
      ['where', describeLocation(topology, assignment.cpus)],
      ['rules', formatRules(assignment.rules)],
      ['since', formatTime(assignment.since)],
    ],
    terminal,
  );
}

function formatOther({ podUid, running, cpus }: OtherPod, terminal: Terminal): string {
  const has = cpus.isEmpty ? 'it has no CPUs of its own' : `it has ${cpus.toString()}`;
  return formatFacts(
    `another pod of this name: uid ${podUid}`,
    [
      ['state', running ? `it runs; ${has}` : `no container of it runs; ${has}`],
      ['see', `cpusetd explain ${podUid}`],
    ],
    terminal,
  );
}

const REFUSED: Readonly<Record<RefusedContainer['asked'], string>> = {
  creation: 'refused',
  start: 'its start was refused',
  change: 'a change was refused',
  unknown: 'refused', // sent by a newer daemon
};

function formatRefused(container: RefusedContainer, terminal: Terminal): string {
  const chosen = container.chosenBy === undefined ? '' : `, chosen by ${container.chosenBy}`;
  return formatFacts(
    `${container.namespace}/${container.pod} ${container.container}: ${REFUSED[container.asked]}`,
    [
      ['because', container.because],
      [
        'asked',
        container.requested === 0
          ? 'to share'
          : `${plural(container.requested, 'CPU')}, policy ${container.policy}${chosen}`,
      ],
      ['when', formatTimes(container)],
      ...container.zones.map((zone, i): Fact => [i === 0 ? 'room' : '', formatRoom(zone)]),
      ['now', container.now],
      ['remedy', container.remedy],
      ['code', container.code],
    ],
    terminal,
  );
}

function formatTimes({ times, firstAt, lastAt }: RefusedContainer): string {
  const [first, last] = [formatTime(firstAt), formatTime(lastAt)];
  return times === 1 ? `once, ${last}` : `${times} times, first ${first}, last ${last}`;
}

function formatRoom({ node, allocatable, free, freeNow, podsNow }: ZoneRoom): string {
  const isOne = (part: number): boolean => part === 1 || allocatable === 1;
  const pods = `${plural(podsNow, 'pod has', 'pods have')} CPUs there now`;
  return `NUMA node ${node}: ${free} of ${plural(allocatable, 'CPU')} ${isOne(free) ? 'was' : 'were'} free, ${freeNow} ${isOne(freeNow) ? 'is' : 'are'} now; ${pods}`;
}

/** Leaves out a reason that repeats the placement's. */
function formatVerdict({ verdict: { kind, reason }, because }: ContainerStatus): string {
  return reason === '' || reason === because ? kind : `${kind}: ${reason}`;
}

/** The steps of an allocation, one a line. */
export function listSteps(steps: readonly AllocationStep[]): Fact[] {
  return steps.map(({ rule, took, because }, i) => [i === 0 ? 'steps' : '', `${rule} ${took.toString()}: ${because}`]);
}

function formatRules({ policy, chosenBy, options, reserved }: Rules): string {
  return [
    `policy ${policy}`,
    ...(chosenBy === undefined ? [] : [`chosen by ${chosenBy}`]),
    ...options,
    ...(reserved.isEmpty ? [] : [`reserved ${reserved.toString()}`]),
  ].join(', ');
}

const NAME_WIDTH = 11;

/** A title, and below it the facts that have a text. */
export function formatFacts(title: string, facts: readonly Fact[], { width, paint }: Terminal): string {
  const lines = facts
    .filter(([, text]) => text !== '')
    .flatMap(([name, text]) => {
      const shown = showText(text);
      const parts = width === undefined ? [shown] : wrap(shown, Math.max(20, width - NAME_WIDTH));
      return parts.map((part, i) => `${(i === 0 && name ? `  ${name}:` : '').padEnd(NAME_WIDTH)}${part}\n`);
    });
  return `${paint(showText(title), 'strong')}\n${lines.join('')}`;
}
