import type { AlarmKind } from '../../admin/model/alarm';
import { showText } from '../../core/show-text';
import type { NodeState } from '../../kube';
import type { DaemonContext } from '../context';

/** Alarms about faults that do not keep containers from their CPUs. */
export const BESIDE_PINNING: ReadonlySet<string> = new Set<AlarmKind>([
  'api-server',
  // The options of before are in force.
  'config-refused',
  'not-listening',
  'not-watched',
  'cpu-identity',
  'irq-affinity',
  'qos-actions',
  'qos-object-refused',
  'prediction-template',
  'note-set-aside',
  'requests-allowed',
]);

/** The reasons of the Node's condition. */
export const CONDITION_REASONS = ['Pinning', 'RuntimeNotConnected', 'Alarm'] as const;

interface PinningState extends NodeState {
  readonly reason: (typeof CONDITION_REASONS)[number];
}

/** Returns the content of the Node's condition. */
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
