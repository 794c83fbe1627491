import type { QosActionRecord, QosStatus, RuleStatus, ThrottledContainer } from '../../admin/model/qos-status';
import type { Finding } from '../../qos/analysis/finding';
import type { AvoidanceOptions, Throttle } from '../../qos/avoidance/situation';
import { reasonOf, type EnforcementMode, type Phase } from '../../qos/phases/phase';
import type { Disabled } from './node-taint';

/** Everything that operators see of the rules. */
export interface AvoidanceReading {
  readonly mode: EnforcementMode;
  readonly phase: Phase;
  readonly findings: readonly Finding[];
  readonly disabled: Disabled | undefined;
  readonly throttles: readonly Throttle[];
  readonly recent: readonly QosActionRecord[];
  readonly options: AvoidanceOptions;
}

/** For status, the metrics and the page. */
export function toQosStatus(reading: AvoidanceReading): QosStatus {
  const { mode, phase, findings, disabled, throttles, recent, options } = reading;
  const { actionsLeft, evictionsLeft } = options;
  return {
    mode,
    because: reasonOf(phase),
    rules: findings.map(toRuleStatus),
    ...(disabled && { schedulingDisabled: { because: disabled.because, since: toTime(disabled.sinceMs) } }),
    throttled: throttles.map(toThrottled),
    recent,
    actionsLeft,
    evictionsLeft,
  };
}

function toRuleStatus({ key, state, actionName, because }: Finding): RuleStatus {
  return { rule: key, state, action: actionName, because };
}

function toThrottled(throttle: Throttle): ThrottledContainer {
  const { namespace, pod, container, id, originalUs, quotaUs, periodUs, causes, sinceMs } = throttle;
  return {
    namespace,
    pod,
    container,
    containerId: id,
    originalQuotaUs: originalUs,
    quotaUs,
    periodUs,
    because: causes.map(({ rule, action }) => `${rule} has action ${action}`).join(', '),
    since: toTime(sinceMs),
  };
}

function toTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
