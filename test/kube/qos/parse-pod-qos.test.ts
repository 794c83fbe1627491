import { parsePodQos } from '../../../src/kube/qos/parse-pod-qos';
import { asJson, podQosOf, sharedParts, type Json } from './objects';

const read = (spec: Json) => {
  const parsed = parsePodQos(asJson(podQosOf(spec)));
  return parsed.ok ? parsed.value : parsed.because;
};
const scope = (fields: Json) => read({ scopeSelector: { matchExpressions: [fields] } });

test('all fields of a PodQOS', () => {
  const spec = {
    labelSelector: { matchLabels: { preemptible_job: 'true' } },
    scopeSelector: {
      matchExpressions: [
        { scopeName: 'QOSClass', operator: 'In', values: ['BestEffort'] },
        { scopeName: 'Priority', operator: 'NotIn', values: ['1000-3000', '-1'] },
        { scopeName: 'Namespace', operator: 'In', values: ['batch'] },
      ],
    },
    allowedActions: ['eviction', 'throttle'],
    resourceQOS: { cpuQOS: { cpuPriority: 7 } },
  };
  expect(read(spec)).toEqual({
    name: 'elastic',
    labelSelector: { matchLabels: { preemptible_job: 'true' }, matchExpressions: [] },
    scopes: [
      { name: 'QOSClass', operator: 'In', values: ['BestEffort'] },
      { name: 'Priority', operator: 'NotIn', values: ['1000-3000', '-1'] },
      { name: 'Namespace', operator: 'In', values: ['batch'] },
    ],
    allowedActions: ['eviction', 'throttle'],
  });
});

test('a PodQOS without anything is read, and has neither selectors nor actions', () => {
  expect(read({})).toEqual({ name: 'elastic', scopes: [], allowedActions: [] });
});

const at = 'PodQOS elastic: spec.scopeSelector.matchExpressions[0]';

test.each<[string, Json, string]>([
  [
    'an unknown scope, which Crane ignores',
    { scopeName: 'Node', operator: 'In', values: ['a'] },
    `${at}.scopeName is "Node": it has to be one of QOSClass, Priority, Namespace; write one of them`,
  ],
  [
    'an unknown operator',
    { scopeName: 'Namespace', operator: 'Exists', values: ['a'] },
    `${at}.operator is "Exists": it has to be one of In, NotIn; write one of them`,
  ],
  [
    'no values',
    { scopeName: 'Priority', operator: 'NotIn' },
    `${at}.values is missing: it has to have a value; write one`,
  ],
  [
    'an unknown class',
    { scopeName: 'QOSClass', operator: 'NotIn', values: ['besteffort'] },
    `${at}.values[0] is "besteffort": it has to be one of Guaranteed, Burstable, BestEffort; write one of them`,
  ],
  [
    'a priority in words',
    { scopeName: 'Priority', operator: 'NotIn', values: ['high'] },
    `${at}.values[0] is "high": it has to be a priority or two, the smaller one first; write 1000 or 1000-3000`,
  ],
  [
    'a range from above',
    { scopeName: 'Priority', operator: 'In', values: ['1', '3000-1000'] },
    `${at}.values[1] is "3000-1000": it has to be a priority or two, the smaller one first; write 1000 or 1000-3000`,
  ],
  [
    'a priority that is a number',
    { scopeName: 'Priority', operator: 'In', values: [1000] },
    `${at}.values[0] is 1000: it has to be a text; put it in quotes`,
  ],
])('refused with its field, rule and remedy: %s', (_name, fields, because) => {
  expect(scope(fields)).toBe(because);
});

test.each<[string, Json]>([
  [
    '101 scopes',
    { scopeSelector: { matchExpressions: Array(101).fill({ scopeName: 'Namespace', operator: 'In', values: ['a'] }) } },
  ],
  ['101 actions', { allowedActions: Array(101).fill('a') }],
  [
    '1001 values',
    {
      scopeSelector: { matchExpressions: [{ scopeName: 'Namespace', operator: 'In', values: Array(1001).fill('a') }] },
    },
  ],
  ['an action without a name', { allowedActions: [''] }],
  ['actions that are a text', { allowedActions: 'eviction' }],
  ['a scope selector that is a list', { scopeSelector: [] }],
])('refused: %s', (_name, spec) => {
  expect(read(spec)).toMatch(/^PodQOS elastic: spec\.\S+ .+: it has to .+; .+/);
});

test('no part of the JSON is kept', () => {
  const object = asJson(
    podQosOf({
      labelSelector: { matchLabels: { a: 'b' } },
      scopeSelector: { matchExpressions: [{ scopeName: 'Namespace', operator: 'In', values: ['a'] }] },
      allowedActions: ['eviction'],
    }),
  );
  const parsed = parsePodQos(object);
  expect(parsed.ok).toBe(true);
  expect(sharedParts(object, parsed)).toEqual([]);
});
