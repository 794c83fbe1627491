import { ALARM_KINDS, type AlarmKind } from '../../admin/model/alarm';
import { showText } from '../../core/show-text';
import { STOPPED, type NodeState } from '../../kube';
import type { DaemonContext } from '../context';

/**
 * `breaks`: some container has not what it was promised, or new ones do not get their CPUs. `beside`: containers get
 * their CPUs all the same. A new alarm has to be put on one of the two sides.
 */
const EFFECTS: Readonly<Record<AlarmKind, 'breaks' | 'beside'>> = {
  // A container has other CPUs than it was promised, or that can't be seen.
  'repairs-stopped': 'breaks',
  'cgroup-not-found': 'breaks',
  'not-as-requested': 'breaks',
  'left-alone-disturbs': 'breaks',
  // Requests are refused, CPUs are promised that the cgroups may not have, or nobody repairs.
  'state-not-saved': 'breaks',
  'cpu-bound-unread': 'breaks',
  'rounds-stuck': 'breaks',
  'internal-fault': 'breaks',
  // A second manager gives the same CPUs out.
  'kubelet-cpu-manager': 'breaks',
  // Groups that were never in force are left out, and one of them may be what switches pinning on.
  'node-labels': 'breaks',
  // The options of before are in force.
  'config-refused': 'beside',
  // CPUs are given out by cpusetd's own reservation.
  'kubelet-reservation': 'beside',
  // Fewer CPUs are given out, and those are had.
  'cpus-barred': 'beside',
  'api-server': 'beside',
  'not-listening': 'beside',
  'not-watched': 'beside',
  'cpu-identity': 'beside',
  'irq-affinity': 'beside',
  'qos-actions': 'beside',
  'qos-object-refused': 'beside',
  'prediction-template': 'beside',
  'note-set-aside': 'beside',
  'requests-allowed': 'beside',
};

/** Alarms about faults that do not keep containers from their CPUs. */
export const BESIDE_PINNING: ReadonlySet<string> = new Set(ALARM_KINDS.filter((kind) => EFFECTS[kind] === 'beside'));

/** The reasons of the Node's condition. */
export const CONDITION_REASONS = ['Pinning', 'RuntimeNotConnected', 'Alarm', STOPPED] as const;

interface PinningState extends NodeState {
  readonly reason: (typeof CONDITION_REASONS)[number];
}

/** Returns the content of the Node's condition while cpusetd runs. */
export function pinningState({
  config,
  health,
  alarms,
}: Pick<DaemonContext, 'config' | 'health' | 'alarms'>): PinningState {
  if (health.get(config.mode === 'nri' ? 'nri' : 'cri') !== 'SERVING')
    return {
      ready: false,
      reason: 'RuntimeNotConnected',
      message: 'not connected to the container runtime: new containers are not pinned',
    };
  const alarm = alarms.list().find(({ kind }) => !BESIDE_PINNING.has(kind));
  if (alarm) return { ready: false, reason: 'Alarm', message: showText(alarm.because) };
  return { ready: true, reason: 'Pinning', message: 'containers get their CPUs as promised' };
}

/** The content of the Node's condition from an orderly end on. */
export const STOPPED_STATE: PinningState = {
  ready: false,
  reason: STOPPED,
  message: 'cpusetd was stopped: new containers are not pinned',
};
