import { matchPod, type SelectablePod } from '../../../src/qos/objects/match-pod';
import type { PodQos, PodScope } from '../../../src/qos/objects/objects';
import { parsePriorityRange } from '../../../src/qos/objects/priority-range';

const pod: SelectablePod = { namespace: 'batch', labels: { app: 'job' }, qos: 'BestEffort', priority: 1500 };

const scope = (name: PodScope['name'], operator: PodScope['operator'], ...values: string[]): PodScope => ({
  name,
  operator,
  values,
});
const scoped = (...scopes: PodScope[]): Partial<PodQos> => ({ scopes });
const labelled = (matchLabels: Record<string, string>): Partial<PodQos> => ({
  labelSelector: { matchLabels, matchExpressions: [] },
});
const EXISTS = { key: 'app', operator: 'Exists', values: [] } as const;

test.each<[string, Partial<PodQos>, boolean]>([
  ['no selector', {}, false],
  ['an empty label selector', labelled({}), false],
  ['labels that match', labelled({ app: 'job' }), true],
  ['labels that do not match', labelled({ app: 'web' }), false],
  ['an expression alone', { labelSelector: { matchLabels: {}, matchExpressions: [EXISTS] } }, true],
  ['its class', scoped(scope('QOSClass', 'In', 'Burstable', 'BestEffort')), true],
  ['another class', scoped(scope('QOSClass', 'In', 'Guaranteed')), false],
  ['not its class', scoped(scope('QOSClass', 'NotIn', 'BestEffort')), false],
  ['not another class', scoped(scope('QOSClass', 'NotIn', 'Guaranteed')), true],
  ['its namespace', scoped(scope('Namespace', 'In', 'batch')), true],
  ['another namespace', scoped(scope('Namespace', 'In', 'web')), false],
  ['not its namespace', scoped(scope('Namespace', 'NotIn', 'web', 'batch')), false],
  ['not another namespace', scoped(scope('Namespace', 'NotIn', 'web')), true],
  ['its priority', scoped(scope('Priority', 'In', '1500')), true],
  ['another priority', scoped(scope('Priority', 'In', '1501')), false],
  ['a range around it', scoped(scope('Priority', 'In', '1000-3000')), true],
  ['a range that begins with it', scoped(scope('Priority', 'In', '1500-3000')), true],
  ['a range that ends with it', scoped(scope('Priority', 'In', '0-1500')), true],
  ['a range above it', scoped(scope('Priority', 'In', '1501-3000')), false],
  ['the second of two ranges', scoped(scope('Priority', 'In', '0-10', '1000-2000')), true],
  ['not in a range around it', scoped(scope('Priority', 'NotIn', '1000-3000')), false],
  ['not in a range above it', scoped(scope('Priority', 'NotIn', '1501-3000')), true],
  ['not in the first of two ranges, which Crane forgets', scoped(scope('Priority', 'NotIn', '1000-3000', '1')), false],
  ['a priority that is none', scoped(scope('Priority', 'In', '1500', 'x')), false],
  ['not in a priority that is none', scoped(scope('Priority', 'NotIn', 'x')), false],
  ['two scopes that hold', scoped(scope('QOSClass', 'In', 'BestEffort'), scope('Namespace', 'In', 'batch')), true],
  ['two scopes, one does not', scoped(scope('QOSClass', 'In', 'BestEffort'), scope('Namespace', 'In', 'web')), false],
  ['twice the same scope', scoped(scope('Priority', 'In', '1000-2000'), scope('Priority', 'NotIn', '1500')), false],
  [
    'a scope holds and labels do not',
    { ...scoped(scope('QOSClass', 'In', 'BestEffort')), ...labelled({ app: 'web' }) },
    false,
  ],
  [
    'labels hold and a scope does not',
    { ...scoped(scope('QOSClass', 'In', 'Guaranteed')), ...labelled({ app: 'job' }) },
    false,
  ],
  ['labels and a scope hold', { ...scoped(scope('QOSClass', 'In', 'BestEffort')), ...labelled({ app: 'job' }) }, true],
])('%s', (_name, fields, want) => {
  expect(matchPod({ name: 'q', scopes: [], allowedActions: [], ...fields }, pod)).toBe(want);
});

test.each<[string, Partial<PodQos>, boolean]>([
  ['labels that would not match', labelled({ app: 'web' }), true],
  ['a scope that does not hold', { ...scoped(scope('Namespace', 'In', 'web')), ...labelled({ app: 'web' }) }, false],
  ['an empty label selector', labelled({}), false],
])('a pod whose labels can’t be told: %s', (_name, fields, want) => {
  const { labels: _, ...untold } = pod;
  expect(matchPod({ name: 'q', scopes: [], allowedActions: [], ...fields }, untold)).toBe(want);
});

test.each<[string, { from: number; to: number } | undefined]>([
  ['1000', { from: 1000, to: 1000 }],
  ['1000-3000', { from: 1000, to: 3000 }],
  ['-10', { from: -10, to: -10 }],
  ['-10-5', { from: -10, to: 5 }],
  ['-10--5', { from: -10, to: -5 }],
  ['2000001000', { from: 2_000_001_000, to: 2_000_001_000 }],
  ['3000-1000', undefined],
  ['', undefined],
  ['-', undefined],
  ['1-', undefined],
  ['1-2-3', undefined],
  ['1 - 2', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['99999999999', undefined],
])('priorities %s', (text, want) => {
  expect(parsePriorityRange(text)).toEqual(want);
});
