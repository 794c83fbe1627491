import type { SchedulingDecision } from '../analysis/scheduling';
import type { AvoidancePlan, AvoidanceSteps } from './plan';
import { groupBy } from './select-pods';

/** Something that an operator learns of, and that was not done. */
export interface Notice {
  readonly action: 'evict' | 'throttle' | 'disable-scheduling';
  /** The node, or namespace/pod/container. */
  readonly subject: string;
  readonly because: string;
}

/** A notice, and what it is about: there is one as long as that lasts. */
interface KeyedNotice extends Notice {
  readonly key: string;
}

/** The keys of the notices that were given and whose reason lasts. */
export type Given = ReadonlySet<string>;

export interface Notices {
  /** Those that were not given yet. */
  readonly fresh: readonly Notice[];
  readonly given: Given;
}

/** The actions that would be taken: by rules with the strategy Preview, and with `isPreview` by all. */
export function noticePreview(
  given: Given,
  plan: Pick<AvoidancePlan, keyof AvoidanceSteps | 'previewed'>,
  scheduling: SchedulingDecision,
  isPreview: boolean,
): Notices {
  const found = (isPreview ? [plan, plan.previewed] : [plan.previewed]).flatMap(
    ({ evictions, throttles }): Notice[] => [
      ...evictions.map(({ pod, because }) => ({
        action: 'evict' as const,
        subject: `${pod.namespace}/${pod.name}`,
        because,
      })),
      ...throttles.map(({ pod, container, because }) => ({
        action: 'throttle' as const,
        subject: `${pod.namespace}/${pod.name}/${container}`,
        because,
      })),
    ],
  );
  if (isPreview && scheduling.disabled)
    found.push({ action: 'disable-scheduling', subject: 'node', because: scheduling.because });
  return sift(
    given,
    found.map((notice) => ({ ...notice, key: `${notice.action} ${notice.subject}` })),
  );
}

/** The actions that the budget of the hour leaves undone: one notice for each action and whose budget it is. */
export function noticeBudget(given: Given, { skipped }: Pick<AvoidanceSteps, 'skipped'>): Notices {
  const found = (['evict', 'throttle'] as const).flatMap((action) => {
    const beyond = groupBy(
      skipped.filter(({ beyondBudget }) => beyondBudget === action),
      ({ shareOf }) => shareOf,
    );
    return [...beyond].map(([shareOf, [first, ...others]]): KeyedNotice => {
      const budget = shareOf === undefined ? 'the budget' : `the share of namespace ${shareOf} in the budget`;
      const more = others.length > 0 ? `; ${others.length} more are left alone` : '';
      const because = `${budget} of the hour is spent${more}`;
      return { action, subject: first!.subject, because, key: `${action} ${budget}` };
    });
  });
  return sift(given, found);
}

function sift(given: Given, found: readonly KeyedNotice[]): Notices {
  return {
    fresh: found
      .filter(({ key }) => !given.has(key))
      .map(({ action, subject, because }) => ({ action, subject, because })),
    given: new Set(found.map(({ key }) => key)),
  };
}
