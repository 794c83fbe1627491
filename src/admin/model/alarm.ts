/** The kinds of alarms; they are labels of metrics and therefore fixed. */
export const ALARM_KINDS = [
  'repairs-stopped',
  'kubelet-cpu-manager',
  'state-not-saved',
  'kubelet-reservation',
  'api-server',
  'internal-fault',
  'not-listening',
  'not-watched',
  'cgroup-not-found',
  'rounds-stuck',
  'config-refused',
  'node-labels',
  'cpu-identity',
  'irq-affinity',
  'qos-actions',
  'qos-object-refused',
  'prediction-template',
  'note-set-aside',
  'cpus-barred',
  'cpu-bound-unread',
  'not-as-requested',
  'left-alone-disturbs',
  'requests-allowed',
] as const;

export type AlarmKind = (typeof ALARM_KINDS)[number];

export interface Alarm {
  /** An `AlarmKind`, or a kind that another version sent. */
  readonly kind: string;
  /** Id of a container, name of an option, or name of a part of cpusetd; empty for the node. */
  readonly subject: string;
  readonly because: string;
  readonly since: string;
}
