import type { EvictionStep, StepPod, ThrottleStep } from './plan';

/** The reasons of Events on pods that actions hit. */
export const ACTION_EVENT_REASONS = ['CpuThrottled', 'CpuThrottleEnded', 'EvictedByRule'] as const;

/** An Event on the pod that an action hits, so that its owner learns of it. */
export interface PodActionEvent {
  readonly pod: StepPod;
  readonly container?: string;
  readonly type: 'Warning' | 'Normal';
  readonly reason: (typeof ACTION_EVENT_REASONS)[number];
  readonly message: string;
}

type QuotaStep = Pick<ThrottleStep, 'pod' | 'container' | 'fromUs' | 'toUs' | 'because'>;

/**
 * The Event for a step of a quota: for the first step of a throttle and for the one that ends it. Those in between are
 * no news.
 */
export function eventOfStep(
  kind: 'throttle' | 'restore',
  { pod, container, fromUs, toUs, because }: QuotaStep,
  originalUs: number | undefined,
): PodActionEvent | undefined {
  const about = { pod, container };
  if (kind === 'throttle')
    return fromUs === originalUs
      ? { ...about, type: 'Warning', reason: 'CpuThrottled', message: `${because}. Further steps may follow` }
      : undefined;
  return originalUs === undefined || toUs === originalUs
    ? { ...about, type: 'Normal', reason: 'CpuThrottleEnded', message: `it has its CPU quota again: ${because}` }
    : undefined;
}

export function eventOfEviction({ pod, because }: EvictionStep): PodActionEvent {
  return { pod, type: 'Warning', reason: 'EvictedByRule', message: because };
}
