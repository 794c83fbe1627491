import { parseNodeQos } from '../../../src/kube/qos/parse-node-qos';
import { asJson, nodeQosOf, ruleOf, sharedParts, type Json } from './objects';

const read = (object: unknown) => {
  const parsed = parseNodeQos(asJson(object));
  return parsed.ok ? parsed.value : parsed.because;
};
const readRule = (fields: Json, metricRule: Json = {}) => {
  const read = parseNodeQos(asJson(nodeQosOf({ rules: [ruleOf(fields, metricRule)] })));
  return read.ok ? read.value.rules[0] : read.because;
};

test('all fields of a NodeQOS', () => {
  const object = nodeQosOf({
    selector: { matchLabels: { pool: 'batch' } },
    nodeQualityProbe: { nodeLocalGet: { localCacheTTLSeconds: 60 } },
    rules: [
      ruleOf({ avoidanceThreshold: 2, restoreThreshold: 3, strategy: 'Preview' }),
      ruleOf(
        { name: 'memory', actionName: 'evict' },
        {
          name: 'container_mem_total_usage',
          value: '5G',
          selector: { matchExpressions: [{ key: 'PodNamespace', operator: 'NotIn', values: ['kube-system'] }] },
        },
      ),
    ],
  });
  expect(read(object)).toEqual({
    name: 'high-load',
    uid: 'u1',
    selector: { matchLabels: { pool: 'batch' }, matchExpressions: [] },
    rules: [
      {
        name: 'cpu',
        metric: { name: 'cpu_total_utilization', threshold: 80 },
        avoidanceThreshold: 2,
        restoreThreshold: 3,
        actionName: 'throttle',
        strategy: 'Preview',
      },
      {
        name: 'memory',
        metric: {
          name: 'container_mem_total_usage',
          threshold: 5e9,
          selector: {
            matchLabels: {},
            matchExpressions: [{ key: 'PodNamespace', operator: 'NotIn', values: ['kube-system'] }],
          },
        },
        avoidanceThreshold: 1,
        restoreThreshold: 1,
        actionName: 'evict',
        strategy: 'None',
      },
    ],
  });
});

test('what is left out has the defaults of the CRD', () => {
  expect(read(nodeQosOf({}))).toEqual({ name: 'high-load', uid: 'u1', rules: [] });
  expect(readRule({})).toMatchObject({ avoidanceThreshold: 1, restoreThreshold: 1, strategy: 'None' });
  const nulls = { avoidanceThreshold: null, restoreThreshold: null, strategy: null };
  expect(readRule(nulls, { selector: null })).toEqual(readRule({}));
});

test('0 rounds are 1 round, as in Crane', () => {
  const rule = readRule({ avoidanceThreshold: 0, restoreThreshold: 0 });
  expect(rule).toMatchObject({ avoidanceThreshold: 1, restoreThreshold: 1 });
});

test.each<[unknown, number]>([
  [80, 80],
  ['80', 80],
  [0, 0],
  ['0', 0],
  ['1500m', 2],
  [0.5, 1],
  ['5Gi', 5 * 2 ** 30],
  ['1e3', 1000],
  [5_000_000_000, 5e9],
])('a threshold of %j is %d: whole units, rounded up', (value, threshold) => {
  expect(readRule({}, { value })).toMatchObject({ metric: { threshold } });
});

const at = 'NodeQOS high-load: spec.rules[0] (cpu)';
const roundsRule = 'it has to be a whole number from 0 to 2147483647; leave it out for 1';
const quantityRule = 'it has to be a quantity of 0 or more, below 2^53; write a number with or without a unit';

test.each<[string, Json, Json, string]>([
  [
    'no name',
    { name: undefined },
    {},
    'NodeQOS high-load: spec.rules[0].name is missing: it has to be set; give each rule a name of its own',
  ],
  [
    'no action',
    { actionName: undefined },
    {},
    `${at}.actionName is missing: it has to be set; write the name of an AvoidanceAction`,
  ],
  ['an action that is a number', { actionName: 7 }, {}, `${at}.actionName is 7: it has to be a text; put it in quotes`],
  ['rounds as text', { avoidanceThreshold: '2' }, {}, `${at}.avoidanceThreshold is "2": ${roundsRule}`],
  ['negative rounds', { restoreThreshold: -1 }, {}, `${at}.restoreThreshold is -1: ${roundsRule}`],
  ['half a round', { restoreThreshold: 1.5 }, {}, `${at}.restoreThreshold is 1.5: ${roundsRule}`],
  ['rounds beyond int32', { avoidanceThreshold: 2 ** 31 }, {}, `${at}.avoidanceThreshold is 2147483648: ${roundsRule}`],
  [
    'an unknown strategy',
    { strategy: 'Dry' },
    {},
    `${at}.strategy is "Dry": it has to be one of None, Preview; write one of them`,
  ],
  [
    'no metric rule',
    { metricRule: undefined },
    {},
    `${at}.metricRule.name is missing: it has to be set; write the name of a metric, such as cpu_total_utilization`,
  ],
  [
    'a metric rule that is a list',
    { metricRule: [] },
    {},
    `${at}.metricRule has 0 entries: it has to be an object; write its fields below it`,
  ],
  [
    'no value',
    {},
    { value: undefined },
    `${at}.metricRule.value is missing: it has to be set; write the value above which the rule fires, such as 80`,
  ],
  ['a negative value', {}, { value: -1 }, `${at}.metricRule.value is -1: ${quantityRule}`],
  ['a value that is no quantity', {}, { value: '80 %' }, `${at}.metricRule.value is "80 %": ${quantityRule}`],
  ['a huge value', {}, { value: '1e99' }, `${at}.metricRule.value is "1e99": ${quantityRule}`],
  ['a huge number', {}, { value: 1e300 }, `${at}.metricRule.value is 1e+300: ${quantityRule}`],
  ['a value that is an object', {}, { value: {} }, `${at}.metricRule.value is an object: ${quantityRule}`],
  [
    'In without values',
    {},
    { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
    `${at}.metricRule.selector.matchExpressions[0].values is missing: it has to have a value for In; write one`,
  ],
  [
    'Exists with values',
    {},
    { selector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } },
    `${at}.metricRule.selector.matchExpressions[0].values has 1 entries: it has to be empty for Exists; remove it`,
  ],
  [
    'an unknown operator',
    {},
    { selector: { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] } },
    `${at}.metricRule.selector.matchExpressions[0].operator is "Gt": it has to be one of In, NotIn, Exists, DoesNotExist; write one of them`,
  ],
  [
    'a label that is a number',
    {},
    { selector: { matchLabels: { a: 1 } } },
    `${at}.metricRule.selector.matchLabels["a"] is 1: it has to be a text; put it in quotes`,
  ],
])('refused with its field, rule and remedy: %s', (_name, fields, metricRule, because) => {
  const rule = readRule(fields, metricRule);
  expect(rule).toBe(because);
});

test('two rules of one name are refused, because they would count together', () => {
  expect(read(nodeQosOf({ rules: [ruleOf(), ruleOf()] }))).toBe(
    'NodeQOS high-load: spec.rules[1] (cpu).name is "cpu": it has to be the only rule of this name; rename one of them',
  );
});

test.each<[string, unknown, string]>([
  [
    '101 rules',
    nodeQosOf({ rules: Array.from({ length: 101 }, (_, i) => ruleOf({ name: `r${i}` })) }),
    'spec.rules has 101 entries',
  ],
  ['a long name of a rule', nodeQosOf({ rules: [ruleOf({ name: 'x'.repeat(254) })] }), 'at most 253 characters'],
  [
    'a long name of an action',
    nodeQosOf({ rules: [ruleOf({ actionName: 'x'.repeat(254) })] }),
    'at most 253 characters',
  ],
  [
    '101 labels',
    nodeQosOf({ selector: { matchLabels: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`l${i}`, ''])) } }),
    'at most 100 entries',
  ],
  [
    '1001 values',
    nodeQosOf({ selector: { matchExpressions: [{ key: 'a', operator: 'In', values: Array(1001).fill('v') }] } }),
    'at most 1000 entries',
  ],
])('nothing is cut: %s are refused', (_name, object, because) => {
  expect(read(object)).toContain(because);
});

test('100 rules are read', () => {
  const rules = Array.from({ length: 100 }, (_, i) => ruleOf({ name: `r${i}` }));
  expect(read(nodeQosOf({ rules }))).toMatchObject({ rules: { length: 100 } });
});

test.each([
  null,
  7,
  'text',
  [],
  {},
  { metadata: 7 },
  { metadata: { name: ['x'] } },
  { metadata: { name: 'x' }, spec: 7 },
])('no object: %j is refused', (object) => {
  expect(parseNodeQos(object)).toMatchObject({ ok: false, because: expect.stringMatching(/^(a )?NodeQOS .+; .+/) });
});

test('labels keep keys that objects inherit, as labels of their own', () => {
  const selector = JSON.parse('{"matchLabels": {"__proto__": "a", "constructor": "b"}}') as unknown;
  const parsed = parseNodeQos(nodeQosOf({ selector }));
  const labels = parsed.ok ? parsed.value.selector?.matchLabels : undefined;
  expect(Object.entries(labels ?? {})).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
  expect(Object.getPrototypeOf(labels)).toBe(Object.prototype);
});

test('fields that an object inherits are absent', () => {
  const polluted = Object.assign(Object.create({ spec: { rules: [ruleOf()] } }) as Json, { metadata: { name: 'x' } });
  expect(parseNodeQos(polluted)).toEqual({ ok: true, value: { name: 'x', uid: '', rules: [] } });
});

test('a message shows no control characters and no long text of the object', () => {
  const because = read(nodeQosOf({ rules: [ruleOf({ name: '\u001b[2J', strategy: `\u202e${'x'.repeat(1e6)}` })] }));
  expect(because).toMatch(/\(\\u001b\[2J\)\.strategy is "\\u202exx/);
  expect(because).toHaveProperty('length', expect.any(Number));
  expect((because as string).length).toBeLessThan(300);
});

test('no part of the JSON is kept', () => {
  const object = asJson(
    nodeQosOf({
      selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
      rules: [ruleOf({}, { selector: { matchLabels: { a: 'b' } } })],
    }),
  );
  const parsed = parseNodeQos(object);
  expect(parsed.ok).toBe(true);
  expect(sharedParts(object, parsed)).toEqual([]);
});

test('an object that is none is refused by what it is', () => {
  expect(parseNodeQos(7)).toEqual({
    ok: false,
    because: 'a NodeQOS without a name: it is 7: it has to be an object; write its fields below it',
  });
});
