import type { ContainerExplanation, Explanation, RefusedContainer, ZoneRoom } from '../../admin/model/explanation';
import type { ContainerStatus, IdleAssignment } from '../../admin/model/status';
import type { AllocationStep } from '../../core/allocation';
import type { Rules } from '../../core/model/assignment';
import { showText } from '../../core/show-text';
import { describeLocation, type Topology } from '../../core/topology';
import { formatTime } from '../format/table';
import { plural } from '../../core/text';

/** The explanation as text. @param count the number of CPUs in a what-if query */
export function formatExplanation(explanation: Explanation, topology: Topology, count: number): string {
  if (explanation.kind === 'what-if') {
    const { fits, cpus, because, steps } = explanation;
    const what = plural(count, 'CPU');
    return formatFacts(fits ? `${what} would fit: ${cpus.toString()}` : `${what} would not fit`, [
      ['because', because],
      ['where', describeLocation(topology, cpus)],
      ...listSteps(steps),
    ]);
  }
  return [
    ...explanation.containers.map((of) => formatContainer(of, topology)),
    ...explanation.idle.map((of) => formatIdle(of, topology)),
    ...explanation.refused.map(formatRefused),
  ].join('\n');
}

/** A fact below a title; without a name it goes on from the one before. */
export type Fact = readonly [name: string, text: string];

function formatContainer({ container: of, steps }: ContainerExplanation, topology: Topology): string {
  const cpus = of.promise?.cpus;
  return formatFacts(`${of.namespace}/${of.pod} ${of.container}: ${of.placement} ${cpus?.toString() ?? ''}`.trimEnd(), [
    ['because', of.because],
    ['where', cpus && of.placement !== 'shared' ? describeLocation(topology, cpus) : ''],
    ['follows', of.nodes ? `NUMA nodes ${of.nodes.toString()}` : ''],
    ['memory', of.promise && !of.promise.mems.isEmpty ? `NUMA nodes ${of.promise.mems.toString()}` : ''],
    ...listSteps(steps),
    ['rules', of.rules ? formatRules(of.rules) : ''],
    ['verdict', formatVerdict(of)],
    ['since', formatTime(of.since)],
  ]);
}

function formatIdle(of: IdleAssignment, topology: Topology): string {
  const [state, why] = of.planned
    ? ['planned', 'the container was not created yet, and its CPUs are kept for it']
    : ['idle', 'the container has exited, and its CPUs stay with its pod'];
  return formatFacts(`${of.namespace}/${of.pod} ${of.container}: ${state} ${of.cpus.toString()}`.trimEnd(), [
    ['because', `${of.because}; ${why}`],
    ['where', describeLocation(topology, of.cpus)],
    ['rules', formatRules(of.rules)],
    ['since', formatTime(of.since)],
  ]);
}

const REFUSED: Readonly<Record<RefusedContainer['asked'], string>> = {
  creation: 'refused',
  start: 'its start was refused',
  change: 'a change was refused',
  unknown: 'refused', // sent by a newer daemon
};

function formatRefused(of: RefusedContainer): string {
  const chosen = of.chosenBy === undefined ? '' : `, chosen by ${of.chosenBy}`;
  return formatFacts(`${of.namespace}/${of.pod} ${of.container}: ${REFUSED[of.asked]}`, [
    ['because', of.because],
    ['asked', of.requested === 0 ? 'to share' : `${plural(of.requested, 'CPU')}, policy ${of.policy}${chosen}`],
    ['when', formatTimes(of)],
    ...of.zones.map((zone, i): Fact => [i === 0 ? 'room' : '', formatRoom(zone)]),
    ['now', of.now],
    ['remedy', of.remedy],
    ['code', of.code],
  ]);
}

function formatTimes({ times, firstAt, lastAt }: RefusedContainer): string {
  const [first, last] = [formatTime(firstAt), formatTime(lastAt)];
  return times === 1 ? `once, ${last}` : `${times} times, first ${first}, last ${last}`;
}

function formatRoom({ node, allocatable, free, freeNow, podsNow }: ZoneRoom): string {
  const pods = `${plural(podsNow, 'pod has', 'pods have')} CPUs there now`;
  return `NUMA node ${node}: ${free} of ${plural(allocatable, 'CPU')} ${free === 1 ? 'was' : 'were'} free, ${freeNow} ${freeNow === 1 ? 'is' : 'are'} now; ${pods}`;
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

/** A title, and below it the facts that have a text. */
export function formatFacts(title: string, facts: readonly Fact[]): string {
  const lines = facts
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `  ${(name && `${name}:`).padEnd(9)}${showText(text)}\n`);
  return `${showText(title)}\n${lines.join('')}`;
}
