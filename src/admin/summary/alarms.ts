import type { Alarm, AlarmKind } from '../model/alarm';
import { formatTime } from '../../core/text';
import type { PartSummary } from './part-summary';

/**
 * The part that an alarm is shown at, and what to do. An alarm whose part is not shown, or that is of a newer daemon,
 * is shown at `cpusetd`.
 */
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

/** Adds to each part the alarms that are shown at it. An alarm makes its part an error. */
export function addAlarms(parts: readonly PartSummary[], alarms: readonly Alarm[]): readonly PartSummary[] {
  const names = new Set(parts.map(({ part }) => part));
  const placeOf = ({ kind }: Alarm): string =>
    isKnown(kind) && names.has(ALARMS[kind].part) ? ALARMS[kind].part : 'cpusetd';
  return parts.map((part) =>
    withAlarms(
      part,
      alarms.filter((alarm) => placeOf(alarm) === part.part),
    ),
  );
}

/** True for an alarm that is shown at this part. */
export function isShownAt(kind: string, part: string): boolean {
  return isKnown(kind) && ALARMS[kind].part === part;
}

function withAlarms(part: PartSummary, own: readonly Alarm[]): PartSummary {
  if (own.length === 0) return part;
  const texts = own.map(({ kind, since, because }) => `alarm ${kind} since ${formatTime(since)}: ${because}`);
  const remedies = new Set(own.flatMap(({ kind }) => (isKnown(kind) ? ALARMS[kind].remedy : [])));
  return { ...part, level: 'error', text: [...texts, part.text].join('; '), remedy: [...remedies].join('; ') };
}

function isKnown(kind: string): kind is AlarmKind {
  return Object.hasOwn(ALARMS, kind);
}
