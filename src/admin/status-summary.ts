import type { Alarm, AlarmKind } from './model/alarm';
import { isTriggered, type LentStatus, type QosStatus, type UsageStatus } from './model/qos-status';
import type { ContainerStatus, DriftTally, NodeStatus, Refused, RefusalSummary, Status } from './model/status';
import { CpuSet } from '../core/cpuset';
import { formatCpuShare, formatMemory, formatPercent, formatTime, plural } from '../core/text';
import type { VerdictKind } from '../core/verdict/judge';
import type { Connection } from '../net/connection-state';

export type Level = 'ok' | 'warning' | 'error';

/** The condition of one part of the node. */
export interface PartSummary {
  readonly part: string;
  readonly level: Level;
  readonly text: string;
  /** The remedy; absent where nothing is to be done. */
  readonly remedy?: string;
}

/** One entry for each part, in the order in which an operator would look. `nowMs`: the time for which "lately" is meant, in ms since 1970. */
export function summarize({ node, containers, idle }: Status, nowMs = Date.now()): readonly PartSummary[] {
  const parts: readonly PartSummary[] = [
    summarizeProcess(node),
    summarizeRuntime(node),
    ...(node.mode === 'nri' && node.cri.state !== 'off' ? [summarizeRecords(node)] : []),
    ...(node.kube ? [summarizePods(node.kube, idle)] : []),
    ...summarizeOptions(node),
    { part: 'state', level: 'ok' as const, text: `generation ${node.generation}` },
    summarizePromises(containers),
    ...summarizeDrifts(containers, nowMs),
    ...summarizeForeign(containers),
    ...(node.refused ? [summarizeRefused(node.refused)] : []),
    ...summarizeGap(node, nowMs),
    ...(node.usage ? [summarizeUsage(node.usage)] : []),
    ...(node.qos ? [summarizeQos(node.qos)] : []),
    ...(node.lent ? [summarizeLent(node.lent)] : []),
  ];
  const placeOf = ({ kind }: Alarm): string => {
    const place = isKnown(kind) ? ALARMS[kind].part : undefined;
    return place !== undefined && parts.some(({ part }) => part === place) ? place : 'cpusetd';
  };
  return parts.map((part) =>
    withAlarms(
      part,
      node.alarms.filter((alarm) => placeOf(alarm) === part.part),
    ),
  );
}

/** The part that an alarm is shown at, and what to do. An alarm whose part is not shown, or that is of a newer daemon, is shown at `cpusetd`. */
const ALARMS: Readonly<Record<AlarmKind, { readonly part: string; readonly remedy: string }>> = {
  'repairs-stopped': {
    part: 'promises',
    remedy: 'find what writes the cpuset: cpusetd events --kind drifted has the cause',
  },
  'kubelet-cpu-manager': { part: 'runtime', remedy: "switch off the kubelet's CPU manager" },
  'state-not-saved': { part: 'state', remedy: 'free space, or make the state directory writable' },
  'kubelet-reservation': { part: 'runtime', remedy: 'reserve the same CPUs for the kubelet and for cpusetd' },
  'api-server': { part: 'api server', remedy: 'check the network, the certificates and the rights' },
  'internal-fault': { part: 'cpusetd', remedy: 'read the log of cpusetd for the fault, and report it' },
  'not-listening': { part: 'cpusetd', remedy: 'free the port, or choose another' },
  'not-watched': { part: 'promises', remedy: 'raise the limit of inotify that the text names' },
  'cgroup-not-found': {
    part: 'promises',
    remedy: 'set the same cgroup driver in the kubelet and the runtime: cpusetd check compares them',
  },
  'cpu-identity': {
    part: 'cpusetd',
    remedy: 'look at the path in the text: make it writable, remove what is in its place, or free space',
  },
  'rounds-stuck': { part: 'promises', remedy: 'restart cpusetd, and report it' },
  'config-refused': { part: 'options', remedy: 'correct the file; it is read again at once' },
  'node-labels': {
    part: 'options',
    remedy: 'let cpusetd get its Node, check --node-name, or set --node-labels',
  },
  'requests-allowed': {
    part: 'runtime',
    remedy: 'use a runtime with NRI 0.12.4 or newer, or set --on-unanswered allow',
  },
  'irq-affinity': { part: 'cpusetd', remedy: 'run cpusetd as a service of the host, or set --irq-affinity off' },
  'qos-actions': { part: 'cpusetd', remedy: 'see cpusetd qos, and docs/qos.md, How it is undone' },
  'qos-object-refused': { part: 'options', remedy: 'correct the object as the text says; it is read again at once' },
  'prediction-template': {
    part: 'options',
    remedy: 'correct the ConfigMap, which is read again at once, or set --node-resource-prediction off',
  },
  'note-set-aside': {
    part: 'cpusetd',
    remedy: 'look at the file that the text names, then remove it: docs/reliability.md, What is undone',
  },
  'cpus-barred': {
    part: 'promises',
    remedy: 'give the cgroup these CPUs (AllowedCPUs= of its unit, the container of the node), or reserve them',
  },
  'cpu-bound-unread': { part: 'promises', remedy: 'make the cgroups of the node readable, or correct --cgroup-root' },
  'not-as-requested': {
    part: 'promises',
    remedy: 'free CPUs there; --topology-manager-policy restricted refuses instead',
  },
  'left-alone-disturbs': {
    part: 'promises',
    remedy:
      'start the container again, or give it other CPUs: cpusetd does not touch it (--leave-alone). Where its CPUs are not known, see why in the text: for a file that cannot be read, run cpusetd as root, and look for a security module; for a cgroup that is not found, set the same cgroup driver in the kubelet and the runtime, and hostPID: true',
  },
};

function withAlarms(part: PartSummary, own: readonly Alarm[]): PartSummary {
  if (own.length === 0) return part;
  const texts = own.map(({ kind, since, because }) => `alarm ${kind} since ${formatTime(since)}: ${because}`);
  const remedies = new Set(own.flatMap(({ kind }) => (isKnown(kind) ? ALARMS[kind].remedy : [])));
  return { ...part, level: 'error', text: [...texts, part.text].join('; '), remedy: [...remedies].join('; ') };
}

function isKnown(kind: string): kind is AlarmKind {
  return Object.hasOwn(ALARMS, kind);
}

function summarizeProcess({ nodeName, version, mode, startedAt }: NodeStatus): PartSummary {
  const place = nodeName === undefined ? '' : ` on node ${nodeName}`;
  return { part: 'cpusetd', level: 'ok', text: `${version}${place}, mode ${mode}, started ${formatTime(startedAt)}` };
}

function summarizeRuntime({ mode, runtimeName, runtimeVersion, nri, cri }: NodeStatus): PartSummary {
  const connection = mode === 'nri' ? nri : cri;
  const name = `${runtimeName} ${runtimeVersion}`.trim();
  const text = `${name && `${name}, `}${describe(connection)}`;
  if (connection.state === 'ready') return { part: 'runtime', level: 'ok', text };
  return {
    part: 'runtime',
    level: 'error',
    text: `${text}; new containers are not pinned`,
    remedy:
      mode === 'nri'
        ? 'check that the runtime runs and NRI is on, and --nri-socket'
        : 'check that the runtime runs, and --cri-endpoint',
  };
}

function summarizeRecords({ cri }: NodeStatus): PartSummary {
  const text = describe(cri);
  if (cri.state === 'ready') return { part: 'cri', level: 'ok', text };
  return {
    part: 'cri',
    level: 'warning',
    text: `${text}; the records of the runtime do not follow`,
    remedy: 'check --cri-endpoint',
  };
}

/** The reason why CPUs of a pod that the runtime no longer has are not free. */
export const KEPT_BY_API_SERVER =
  'the runtime has nothing of the pod any more: only the word of the API server keeps its CPUs';

/** Names of pods in one text. */
const MAX_NAMES = 3;

function summarizePods(
  { pods, heardAt, ...connection }: NonNullable<NodeStatus['kube']>,
  idle: Status['idle'],
): PartSummary {
  const known =
    heardAt === undefined ? 'nothing heard yet' : `${plural(pods, 'pod')}, last heard of ${formatTime(heardAt)}`;
  const text = `${describe(connection)}; ${known}`;
  if (connection.state === 'ready') return { part: 'api server', level: 'ok', text };
  const remedy = 'pinning goes on; check the network, the certificates and the rights';
  const kept = idle.filter(({ keptByApiServer }) => keptByApiServer);
  const { size } = CpuSet.unionOf(kept.map(({ cpus }) => cpus));
  if (size === 0) return { part: 'api server', level: 'warning', text, remedy };
  const names = [...new Set(kept.map(({ namespace, pod, podUid }) => `${namespace}/${pod} (uid ${podUid})`))];
  const more = names.length > MAX_NAMES ? [`${names.length - MAX_NAMES} more`] : [];
  return {
    part: 'api server',
    level: 'warning',
    text: `${text}; ${plural(size, 'idle CPU is', 'idle CPUs are')} kept on its last word alone, for pods that the runtime no longer has: ${[...names.slice(0, MAX_NAMES), ...more].join(', ')}`,
    remedy: `${remedy}. If these pods are gone for good: a start of cpusetd without --kubeconfig frees their CPUs`,
  };
}

function describe({ state, since, reason }: Connection): string {
  return state === 'off' ? 'off' : `${state} since ${formatTime(since)}${reason && `: ${reason}`}`;
}

const LEVELS: Readonly<Record<VerdictKind, Level>> = {
  kept: 'ok',
  pending: 'ok',
  'held-under-old-rules': 'ok',
  'left-alone': 'ok',
  unknown: 'warning',
  drifted: 'warning',
  violated: 'error',
};
const ORDER: readonly Level[] = ['ok', 'warning', 'error'];

/** The extent of exclusivity, in one sentence. */
export const EXCLUSIVE_MEANS =
  "no other container runs there; processes of the host, threads of the kernel and interrupts still can: cpusetd audit shows them, systemd's CPUAffinity= and --irq-affinity steer keep them off";

/** The verdicts of containers that do not have what they were promised, the worst first. */
export const BROKEN = ['violated', 'drifted'] as const satisfies readonly VerdictKind[];

/** The level of a verdict. */
export function levelOf(kind: VerdictKind): Level {
  return LEVELS[kind] ?? 'warning';
}

function summarizePromises(containers: readonly ContainerStatus[]): PartSummary {
  const promised = containers.filter(({ promise }) => promise);
  const sandboxes = promised.filter(({ pause }) => pause);
  const worst = Math.max(0, ...promised.map(({ verdict }) => ORDER.indexOf(levelOf(verdict.kind))));
  const text = [
    countKept(
      promised.filter(({ pause }) => !pause),
      'container',
    ),
    ...(sandboxes.length > 0 ? [countKept(sandboxes, 'pod sandbox', 'pod sandboxes')] : []),
  ].join('; ');
  const level = ORDER[worst]!;
  return {
    part: 'promises',
    level,
    text,
    ...(level !== 'ok' && { remedy: 'cpusetd status --drifted has the reasons' }),
  };
}

/** A drift or a gap that is not longer ago is a warning, put right or not: it may come again. */
const LATELY_MS = 3_600_000;

function wasLately(at: string, nowMs: number): boolean {
  return nowMs - Date.parse(at) <= LATELY_MS;
}

/** The drifts since cpusetd started, of the containers that are still there. */
function summarizeDrifts(containers: readonly ContainerStatus[], nowMs: number): readonly PartSummary[] {
  const drifted = containers.flatMap(({ drift, namespace, pod, container }) =>
    drift ? [{ ...drift, name: `${namespace}/${pod} ${container}` }] : [],
  );
  if (drifted.length === 0) return [];
  const sum = (read: (tally: DriftTally) => number): number => drifted.reduce((total, tally) => total + read(tally), 0);
  const [drifts, repairs, failed] = [
    sum((tally) => tally.drifts),
    sum((tally) => tally.repairs),
    sum((tally) => tally.failedRepairs),
  ];
  const last = drifted.reduce((latest, tally) => (tally.lastAt > latest.lastAt ? tally : latest));
  const text = [
    `${plural(drifts, 'drift')} of ${plural(drifted.length, 'container')} since cpusetd started, the last ${formatTime(last.lastAt)} of ${last.name}`,
    `${plural(repairs, 'repair')} confirmed${failed > 0 ? `, ${failed} failed` : ''}`,
  ].join('; ');
  if (!wasLately(last.lastAt, nowMs)) return [{ part: 'drifts', level: 'ok', text }];
  return [{ part: 'drifts', level: 'warning', text, remedy: 'cpusetd events --kind drifted has the causes' }];
}

/** Others on more of an owner's CPU time than that are a warning, in per cent. */
const MUCH_FOREIGN_PERCENT = 5;

/** The container whose exclusive CPUs others used most. */
function summarizeForeign(containers: readonly ContainerStatus[]): readonly PartSummary[] {
  const looked = containers.filter(({ foreign }) => foreign);
  if (looked.length === 0) return [];
  const worst = looked.reduce((most, container) =>
    container.foreign!.percent > most.foreign!.percent ? container : most,
  );
  const { percent, threads, most, at } = worst.foreign!;
  const place = `${worst.namespace}/${worst.pod} ${worst.container}`;
  const text =
    threads === 0
      ? `nobody else was seen on exclusive CPUs, ${formatTime(at)}`
      : `others used ${formatPercent(percent)} of the CPUs of ${place}, most of it ${most}; ${formatTime(at)}`;
  if (percent < MUCH_FOREIGN_PERCENT) return [{ part: 'audit', level: 'ok', text }];
  return [{ part: 'audit', level: 'warning', text, remedy: 'cpusetd audit names them, and how each is kept off' }];
}

/** The command that tells more is that of the latest. */
function summarizeRefused({ containers, latest }: Refused): PartSummary {
  const names = latest.slice(0, MAX_NAMES).map(nameRefused);
  const more = containers > names.length ? [`${containers - names.length} more`] : [];
  const [first] = latest;
  return {
    part: 'refused',
    level: 'warning',
    text: `${plural(containers, 'container')}: ${[...names, ...more].join('; ')}`,
    ...(first && { remedy: `cpusetd explain ${first.namespace}/${first.pod}` }),
  };
}

const ASKED: Readonly<Record<RefusalSummary['asked'], string>> = {
  creation: '',
  start: 'its start ',
  change: 'a change of its resources ',
  unknown: '',
};

/** A refused container, in words: how often, the last time, and why. */
export function nameRefused({ namespace, pod, container, asked, times, lastAt, because }: RefusalSummary): string {
  const often = times === 1 ? '' : `${times} times, the last `;
  return `${namespace}/${pod} ${container} (${ASKED[asked]}${often}${formatTime(lastAt)}): ${because}`;
}

/** Such as `2 of 3 containers kept, 1 drifted`. */
function countKept(promised: readonly ContainerStatus[], noun: string, many?: string): string {
  const counts = new Map<VerdictKind, number>();
  for (const { verdict } of promised) counts.set(verdict.kind, (counts.get(verdict.kind) ?? 0) + 1);
  const others = [...counts].filter(([kind]) => kind !== 'kept').map(([kind, count]) => `${count} ${kind}`);
  return [`${counts.get('kept') ?? 0} of ${plural(promised.length, noun, many)} kept`, ...others].join(', ');
}

/** Options that were changed and are not in force. */
function summarizeOptions({ pendingOptions = [], alarms }: NodeStatus): readonly PartSummary[] {
  if (pendingOptions.length === 0 && !alarms.some(({ kind }) => isKnown(kind) && ALARMS[kind].part === 'options'))
    return [];
  if (pendingOptions.length === 0) return [{ part: 'options', level: 'ok', text: 'those of before are in force' }];
  const texts = pendingOptions.map(
    ({ option, inForce, configured, because }) =>
      `${option}: ${configured || 'not set'} is configured, ${inForce || 'not set'} is in force: ${because}`,
  );
  return [
    {
      part: 'options',
      level: 'warning',
      text: texts.join('; '),
      remedy: 'restart cpusetd; containers keep their CPUs',
    },
  ];
}

function summarizeGap({ gap }: NodeStatus, nowMs: number): readonly PartSummary[] {
  if (!gap || (gap.to && gap.containers === 0)) return []; // nothing was missed
  const names = gap.names.length > 0 ? ` (${gap.names.join(', ')})` : '';
  const span = `${formatTime(gap.from)} to ${gap.to ? formatTime(gap.to) : 'now'}`;
  const text = `${span}: ${plural(gap.containers, 'container')} started without cpusetd${names}`;
  if (!gap.to) return [{ part: 'gap', level: 'warning', text }]; // the runtime has the remedy
  if (!wasLately(gap.to, nowMs)) return [{ part: 'gap', level: 'ok', text }];
  const remedy =
    'cpusetd events --kind gap,found-unpinned has the containers; how to have no gap: docs/operations.md, The gap';
  return [{ part: 'gap', level: 'warning', text, remedy }];
}

function summarizeUsage(usage: UsageStatus): PartSummary {
  const { at, cpuCores, cpuPercent, memoryBytes, memoryTotalBytes } = usage;
  const exclusive = listExclusiveUse(usage);
  const facts = [
    ...(cpuPercent === undefined ? [] : [`${formatPercent(cpuPercent)} of ${plural(cpuCores, 'CPU')} busy`]),
    ...(memoryBytes === undefined || memoryTotalBytes === undefined
      ? []
      : [`${formatMemory(memoryBytes)} of ${formatMemory(memoryTotalBytes)} memory used`]),
    ...(exclusive.length === 0 ? [] : [`exclusive CPUs: ${exclusive.join(', ')}`]),
  ];
  return { part: 'usage', level: 'ok', text: [...facts, `read ${formatTime(at)}`].join(', ') };
}

/** The time of exclusive CPUs, as far as it is known: used by their owners, used by others, unused. */
export function listExclusiveUse(usage: UsageStatus): readonly string[] {
  const parts = [
    [usage.exclusiveOwnersMilliCpu, 'used by owners'],
    [usage.exclusiveOthersMilliCpu, 'used by others'],
    [usage.exclusiveIdleMilliCpu, 'unused'],
  ] as const;
  return parts.flatMap(([milli, what]) => (milli === undefined ? [] : [`${formatCpuShare(milli)} ${what}`]));
}

function summarizeQos({ mode, because, rules, schedulingDisabled, throttled }: QosStatus): PartSummary {
  const triggered = rules.filter(isTriggered).length;
  const state =
    because === '' ? `${triggered} of ${plural(rules.length, 'rule')} triggered` : `no rule is followed: ${because}`;
  const effects = [
    ...(schedulingDisabled
      ? [`new pods are kept away since ${formatTime(schedulingDisabled.since)}: ${schedulingDisabled.because}`]
      : []),
    ...(throttled.length > 0 ? [`${plural(throttled.length, 'container is', 'containers are')} throttled`] : []),
  ];
  const isFine = effects.length === 0 && (because === '' || mode === 'off');
  return {
    part: 'qos',
    level: isFine ? 'ok' : 'warning',
    text: [`mode ${mode}, ${state}`, ...effects].join('; '),
    ...(!isFine && { remedy: 'cpusetd qos has the rules, the containers and the reasons' }),
  };
}

function summarizeLent(lent: LentStatus): PartSummary {
  return { part: 'lent', level: 'ok', text: `${formatLent(lent)}; ${lent.because}` };
}

/** The resources that are lent, in words. */
export function formatLent({ cpuMilli, memoryBytes }: LentStatus): string {
  const amounts = [
    ...(cpuMilli === undefined ? [] : [formatCpuShare(cpuMilli)]),
    ...(memoryBytes === undefined ? [] : [`${formatMemory(memoryBytes)} of memory`]),
  ];
  return amounts.join(' and ') || 'nothing';
}
