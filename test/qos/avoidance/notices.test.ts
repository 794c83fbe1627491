import { noticeBudget, noticePreview, type Given } from '../../../src/qos/avoidance/notices';
import type { AvoidancePlan, AvoidanceSteps, Skipped } from '../../../src/qos/avoidance/plan';

const NONE: Given = new Set();
const OPEN = { disabled: false, because: '' };
const CLOSED = { disabled: true, because: 'q/r triggered' };
const EMPTY: AvoidanceSteps = { throttles: [], restores: [], evictions: [], skipped: [] };

const pod = (name: string) => ({ uid: name, namespace: 'jobs', name });
const throttle = (name: string) => ({
  pod: pod(name),
  container: 'main',
  id: name,
  fromUs: 2,
  toUs: 1,
  periodUs: 9,
  rule: 'q/r',
  action: 'a',
  because: `throttle ${name}`,
});
const evict = (name: string) => ({ pod: pod(name), rule: 'q/r', action: 'a', because: `evict ${name}` });
const planOf = (own: Partial<AvoidanceSteps>, previewed: Partial<AvoidanceSteps> = {}) =>
  ({ ...EMPTY, ...own, previewed: { ...EMPTY, ...previewed } }) as AvoidancePlan;
const show = ({ fresh }: { fresh: readonly { action: string; subject: string; because: string }[] }) =>
  fresh.map(({ action, subject, because }) => `${action} ${subject}: ${because}`);

describe('noticePreview', () => {
  const plan = planOf({ throttles: [throttle('a')] }, { evictions: [evict('b')] });

  test('in preview all steps and the taint are noticed, in enforce those of rules with the strategy Preview', () => {
    expect(show(noticePreview(NONE, plan, CLOSED, true))).toEqual([
      'throttle jobs/a/main: throttle a',
      'evict jobs/b: evict b',
      'disable-scheduling node: q/r triggered',
    ]);
    expect(show(noticePreview(NONE, plan, CLOSED, false))).toEqual(['evict jobs/b: evict b']);
    expect(show(noticePreview(NONE, planOf({}), OPEN, true))).toEqual([]);
  });

  test('a step is noticed once as long as it lasts, and again when it comes back', () => {
    const first = noticePreview(NONE, plan, OPEN, true);
    const second = noticePreview(first.given, planOf({ throttles: [throttle('a'), throttle('c')] }), OPEN, true);
    expect(show(second)).toEqual(['throttle jobs/c/main: throttle c']);
    expect(show(noticePreview(second.given, plan, OPEN, true))).toEqual(['evict jobs/b: evict b']);
  });
});

describe('noticeBudget', () => {
  const skipped = (subject: string, beyondBudget?: 'evict' | 'throttle', shareOf?: string): Skipped => ({
    subject,
    because: 'budget',
    ...(beyondBudget && { beyondBudget }),
    ...(shareOf !== undefined && { shareOf }),
  });

  test('one notice for each action and budget, with the first subject and the number of others', () => {
    const list = [
      ...[skipped('a', 'throttle'), skipped('b', 'throttle'), skipped('c', 'throttle', 'jobs'), skipped('d', 'evict')],
      skipped('e'),
    ];
    expect(show(noticeBudget(NONE, { skipped: list }))).toEqual([
      'evict d: the budget of the hour is spent',
      'throttle a: the budget of the hour is spent; 1 more are left alone',
      'throttle c: the share of namespace jobs in the budget of the hour is spent',
    ]);
  });

  test('it is noticed once as long as the budget is spent, whoever is left alone', () => {
    const first = noticeBudget(NONE, { skipped: [skipped('a', 'throttle')] });
    const second = noticeBudget(first.given, { skipped: [skipped('b', 'throttle')] });
    expect(second.fresh).toEqual([]);
    const third = noticeBudget(second.given, { skipped: [] });
    expect(show(noticeBudget(third.given, { skipped: [skipped('b', 'throttle')] }))).toHaveLength(1);
  });
});
