import type { Connection } from '../../net/connection-state';
import type {
  ContainerStatus,
  NodeStatus,
  Observation,
  PodSource,
  QuotaPromise,
  Status,
} from '../../admin/model/status';
import type { Rules } from '../../core/model/assignment';
import { showText } from '../../core/show-text';
import { formatTable, formatTime } from '../format/table';
import { plural } from '../../core/text';

/** The status as text: the node, its containers, and idle CPUs of pods. */
export function formatStatusTable({ node, containers, idle }: Status): string {
  const sections = [formatNode(node)];
  if (containers.length === 0) sections.push('No containers.\n');
  else sections.push(formatContainers(containers));
  if (idle.length > 0) {
    sections.push(
      `Idle: CPUs of exited containers, which stay with their pods${idle.some(({ planned }) => planned) ? ', and of containers to come' : ''}.\n${formatTable(
        ['POD', 'CONTAINER', 'POLICY', 'CPUS', 'SINCE', 'BECAUSE', 'POD UID'],
        idle.map((of) => [
          `${of.namespace}/${of.pod}`,
          of.container,
          formatPolicy(of.rules),
          of.cpus.toString(),
          formatTime(of.since),
          of.planned ? `planned, not created yet: ${of.because}` : of.because,
          of.podUid,
        ]),
      )}`,
    );
  }
  return sections.join('\n');
}

/** Longest fact of the node: a gap names containers, alarms and reasons are sentences. */
const MAX_FACT_LENGTH = 8_192;

function formatNode(node: NodeStatus): string {
  const { gap } = node;
  const facts: [name: string, text: string][] = [
    ['policy', [node.policy, ...node.policyOptions].join(', ')],
    ['online', node.online.toString()],
    ['reserved', node.reserved.toString()],
    ['isolated', node.isolated.toString()],
    ['shared pool', node.sharedPool.toString()],
    ['free', node.free.isEmpty ? 'none' : `${node.free.toString()} (${plural(node.free.size, 'CPU')})`],
    ['runtime', `${node.runtimeName} ${node.runtimeVersion}`.trim()],
    ['nri', formatConnection(node.nri)],
    ['cri', formatConnection(node.cri)],
    ['api server', node.kube ? formatPodSource(node.kube) : ''],
    ['cpusetd', `${node.version}, mode ${node.mode}, started ${formatTime(node.startedAt)}, state ${node.generation}`],
    [
      'gap',
      gap
        ? `${formatTime(gap.from)} to ${gap.to ? formatTime(gap.to) : 'now'}: ${plural(gap.containers, 'container')} started without cpusetd${gap.names.length > 0 ? ` (${gap.names.join(', ')})` : ''}`
        : '',
    ],
    ...node.alarms.map(({ kind, since, because }): [string, string] => [
      'ALARM',
      `${kind} since ${formatTime(since)}: ${because}`,
    ]),
  ];
  return facts
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${`${name}:`.padEnd(13)}${showText(text, MAX_FACT_LENGTH)}\n`)
    .join('');
}

function formatConnection({ state, since, reason }: Connection): string {
  if (state === 'off') return 'off';
  return `${state} since ${formatTime(since)}${reason && `: ${reason}`}`;
}

function formatPodSource({ pods, heardAt, ...connection }: PodSource): string {
  const known =
    heardAt === undefined ? 'nothing heard yet' : `${plural(pods, 'pod')}, last heard of ${formatTime(heardAt)}`;
  return `${formatConnection(connection)}; ${known}`;
}

const PLACEMENTS = ['exclusive', 'immovable', 'numa', 'shared', 'left-alone'] as const;

const CONTAINER_COLUMNS = [
  'POD',
  'CONTAINER',
  'ID',
  'PLACEMENT',
  'POLICY',
  'NODES',
  'PROMISED',
  'KERNEL',
  'MEMS',
  'VERDICT',
  'SINCE',
  'BECAUSE',
  'POD UID',
];

function formatContainers(containers: readonly ContainerStatus[]): string {
  const sorted = [...containers].sort(
    (a, b) =>
      Number(a.pause ?? false) - Number(b.pause ?? false) ||
      PLACEMENTS.indexOf(a.placement) - PLACEMENTS.indexOf(b.placement) ||
      compare(nameOf(a), nameOf(b)) ||
      compare(a.id, b.id),
  );
  return formatTable(
    CONTAINER_COLUMNS,
    sorted.map((of) => [
      `${of.namespace}/${of.pod}`,
      of.container,
      of.id.slice(0, 13), // as crictl and docker shorten it
      of.placement,
      of.rules ? formatPolicy(of.rules) : '',
      of.nodes?.toString() ?? '',
      of.promise?.cpus.toString() ?? '',
      of.observation ? formatObservation(of.observation, of.promise) : '',
      of.promise?.mems.toString() ?? '',
      of.verdict.kind,
      formatTime(of.verdict.since),
      of.verdict.kind === 'kept' || of.verdict.reason === '' ? of.because : of.verdict.reason,
      of.podUid,
    ]),
  );
}

/** The policy, and the pod's annotation that chose it if one did. */
function formatPolicy({ policy, chosenBy }: Rules): string {
  return chosenBy === undefined ? policy : `${policy}, by ${chosenBy}`;
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
