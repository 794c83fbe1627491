/** The words for an alarm, fixed because metrics count by them. */
export const ALARM_KINDS = [
  'repairs-stopped',
  'kubelet-cpu-manager',
  'state-not-saved',
  'kubelet-reservation',
  'api-server',
  'internal-fault',
  'not-listening',
  'not-watched',
  'rounds-stuck',
] as const;

export type AlarmKind = (typeof ALARM_KINDS)[number];

export interface Alarm {
  /** An `AlarmKind`, or a word of another version. */
  readonly kind: string;
  /** Id of the container, name of the option, or name of the part of cpusetd, that it is about; empty for the node. */
  readonly subject: string;
  readonly because: string;
  readonly since: string;
}
