import { matchLabels } from '../../../src/qos/objects/match-labels';
import type { LabelExpression, LabelSelector } from '../../../src/qos/objects/objects';

const labels = { app: 'web', tier: '', 'gocrane.io/kind': 'batch' };

const selectorOf = (...matchExpressions: LabelExpression[]): LabelSelector => ({ matchLabels: {}, matchExpressions });
const term = (key: string, operator: LabelExpression['operator'], ...values: string[]): LabelExpression => ({
  key,
  operator,
  values,
});

test.each<[string, LabelSelector, boolean]>([
  ['a selector without terms matches everything', selectorOf(), true],
  ['a label with this value', { matchLabels: { app: 'web' }, matchExpressions: [] }, true],
  ['a label with another value', { matchLabels: { app: 'db' }, matchExpressions: [] }, false],
  ['two labels, one of them missing', { matchLabels: { app: 'web', zone: 'a' }, matchExpressions: [] }, false],
  ['an empty value is a value', { matchLabels: { tier: '' }, matchExpressions: [] }, true],
  ['an empty value is not a missing label', { matchLabels: { zone: '' }, matchExpressions: [] }, false],
  ['In: one of the values', selectorOf(term('app', 'In', 'db', 'web')), true],
  ['In: none of the values', selectorOf(term('app', 'In', 'db')), false],
  ['In: a missing key', selectorOf(term('zone', 'In', '')), false],
  ['NotIn: one of the values', selectorOf(term('app', 'NotIn', 'db', 'web')), false],
  ['NotIn: none of the values', selectorOf(term('app', 'NotIn', 'db')), true],
  ['NotIn: a missing key', selectorOf(term('zone', 'NotIn', 'a')), true],
  ['Exists: a key with an empty value', selectorOf(term('tier', 'Exists')), true],
  ['Exists: a missing key', selectorOf(term('zone', 'Exists')), false],
  ['DoesNotExist: a key with an empty value', selectorOf(term('tier', 'DoesNotExist')), false],
  ['DoesNotExist: a missing key', selectorOf(term('zone', 'DoesNotExist')), true],
  ['all terms have to hold', selectorOf(term('app', 'Exists'), term('zone', 'Exists')), false],
  [
    'labels and expressions have to hold',
    { matchLabels: { app: 'web' }, matchExpressions: [term('tier', 'In', 'x')] },
    false,
  ],
])('%s', (_name, selector, want) => {
  expect(matchLabels(selector, labels)).toBe(want);
});

test.each(['constructor', 'toString', 'hasOwnProperty', '__proto__', 'valueOf'])(
  'no object inherits a label: %s',
  (key) => {
    expect(matchLabels(selectorOf(term(key, 'Exists')), labels)).toBe(false);
    expect(matchLabels(selectorOf(term(key, 'DoesNotExist')), labels)).toBe(true);
    expect(matchLabels(selectorOf(term(key, 'NotIn', 'a')), labels)).toBe(true);
    const own = JSON.parse(`{ "${key}": "a" }`) as Record<string, string>;
    expect(matchLabels(selectorOf(term(key, 'In', 'a')), own)).toBe(true);
    expect(matchLabels({ matchLabels: own, matchExpressions: [] }, own)).toBe(true);
    expect(matchLabels({ matchLabels: own, matchExpressions: [] }, labels)).toBe(false);
  },
);
