import type { AnalysisInput } from '../../../src/qos/analysis/analyze';
import { actionOf, byName, CPU, metricsOf, nodeQosOf, Rounds, ruleOf, seriesOf } from './objects';

/** The states of the only rule: `91` is above the threshold, `-` is a round without data. */
function statesOf(values: string, fields: Parameters<typeof ruleOf>[1] = {}): string {
  const rounds = new Rounds({ nodeQoss: [nodeQosOf('q', [ruleOf('r', fields)])] });
  return values
    .split(' ')
    .map((value) => rounds.value(value === '-' ? undefined : Number(value)).findings)
    .map(([finding]) => finding!.state + (finding!.event ? '!' : ''))
    .join(' ');
}

test.each<[string, Parameters<typeof ruleOf>[1], string, string]>([
  ['a value at the threshold is not above it', {}, '80', 'calm'],
  ['one round above triggers by default', {}, '81 81', 'triggered! triggered'],
  ['one round not above restores by default', {}, '81 79 79', 'triggered! restored! calm'],
  ['three rounds in a row trigger', { avoidanceThreshold: 3 }, '90 90 90 90', 'firing firing triggered! triggered'],
  [
    'a round between begins anew',
    { avoidanceThreshold: 2 },
    '90 70 90 70 90 90',
    'firing calm firing calm firing triggered!',
  ],
  ['two rounds in a row restore', { restoreThreshold: 2 }, '90 70 70 70', 'triggered! restoring restored! calm'],
  [
    'while it restores, one round above is enough, and is not told again',
    { avoidanceThreshold: 2, restoreThreshold: 2 },
    '90 90 70 90 70 70 90',
    'firing triggered! restoring triggered restoring restored! firing',
  ],
  [
    'rounds without data count for nothing, and lose nothing',
    { avoidanceThreshold: 2, restoreThreshold: 2 },
    '90 - 90 - 70 - 70 -',
    'firing no-data triggered! no-data restoring no-data restored! no-data',
  ],
  [
    'what has triggered is lost after three rounds in a row without data, and begins anew',
    { avoidanceThreshold: 2, restoreThreshold: 2 },
    '90 90 - - 90 - - - - 90 90',
    'firing triggered! no-data no-data triggered no-data no-data restored! no-data firing triggered!',
  ],
  ['a value that is no number is no data', {}, '90 NaN Infinity 70', 'triggered! no-data no-data restored!'],
  ['a preview is told the same way', { strategy: 'Preview' }, '90 90 70', 'triggered! triggered restored!'],
  [
    'an action that does not exist is told too',
    { actionName: 'nothing' },
    '90 90 70',
    'triggered! triggered restored!',
  ],
])('%s', (_name, fields, values, states) => {
  expect(statesOf(values, fields)).toBe(states);
});

test('a finding has all that an operator has to know', () => {
  const selector = {
    matchLabels: {},
    matchExpressions: [{ key: 'PodNamespace', operator: 'In', values: ['a', 'b'] }],
  } as const;
  const rule = ruleOf(
    'memory',
    { avoidanceThreshold: 2, restoreThreshold: 3 },
    { name: 'container_mem', threshold: 100, selector },
  );
  const series = [
    seriesOf(50, { PodNamespace: 'a', PodName: 'one', ContainerName: 'app' }),
    seriesOf(101.5, { PodNamespace: 'a', PodName: 'two', ContainerName: 'app' }),
    seriesOf(300, { PodNamespace: 'b', PodName: 'three', ContainerName: '' }),
    seriesOf(900, { PodNamespace: 'c', PodName: 'four', ContainerName: 'app' }),
  ];
  const rounds = new Rounds({ nodeQoss: [nodeQosOf('q', [rule])] });
  const [finding] = rounds.run({ metrics: metricsOf({ container_mem: series }) }).findings;
  expect(finding).toEqual({
    key: 'q/memory',
    nodeQos: 'q',
    rule: 'memory',
    state: 'firing',
    hasTriggered: false,
    above: 1,
    avoidanceThreshold: 2,
    notAbove: 0,
    restoreThreshold: 3,
    metric: 'container_mem',
    threshold: 100,
    series: series.slice(0, 3),
    fired: series.slice(1, 3),
    actionName: 'throttle',
    action: actionOf('throttle'),
    isPreview: false,
    because: 'container_mem of b/three is 300, above 100 (and 1 other series above it), in 1 of 2 rounds',
  });
});

test('Events have the words of Crane', () => {
  const rounds = new Rounds({ nodeQoss: [nodeQosOf('high-load', [ruleOf('cpu')])] });
  expect(rounds.value(90).findings[0]?.event).toEqual({
    type: 'Warning',
    reason: 'AvoidanceTriggered',
    message: 'high-load/cpu triggered action throttle',
  });
  expect(rounds.value(70).findings[0]?.event).toEqual({
    type: 'Normal',
    reason: 'RestoreTriggered',
    message: 'high-load/cpu restored action throttle',
  });
});

const twice = { avoidanceThreshold: 2, restoreThreshold: 2 };
const single = (
  fields: Parameters<typeof ruleOf>[1],
  metric: Parameters<typeof ruleOf>[2] = {},
): Partial<AnalysisInput> => ({
  nodeQoss: [nodeQosOf('q', [ruleOf('r', fields, metric)])],
});

test.each<[string, Partial<AnalysisInput>, readonly (number | undefined)[], string]>([
  ['firing', single(twice), [90], `${CPU} is 90, above 80, in 1 of 2 rounds`],
  ['triggered', single(twice), [90, 92.34567], `${CPU} is 92.346, above 80, in 2 rounds in a row`],
  ['triggered at once', single({}), [90], `${CPU} is 90, above 80, in 1 round in a row`],
  ['still triggered', single({}), [90, 95], `${CPU} is 95, above 80; it had triggered before`],
  ['restoring', single(twice), [90, 90, 70], `${CPU} is 70, not above 80, in 1 of 2 rounds`],
  ['restored', single(twice), [90, 90, 70, 71], `${CPU} is 71, not above 80, in 2 rounds in a row`],
  ['calm', single({}), [70], `${CPU} is 70, not above 80`],
  ['a value that is nearly the threshold', single({}), [80.0001], `${CPU} is 80.0001, above 80, in 1 round in a row`],
  ['no data', single({}), [undefined], `metric ${CPU} has no series now`],
  ['no data while triggered', single({}), [90, undefined], `metric ${CPU} has no series now; it stays triggered`],
  [
    'no data for a selector',
    single({}, { selector: { matchLabels: { a: 'b' }, matchExpressions: [] } }),
    [90],
    `metric ${CPU} has no series that the selector matches now`,
  ],
  [
    'a preview',
    single({ strategy: 'Preview' }),
    [90],
    `${CPU} is 90, above 80, in 1 round in a row; a preview, so nothing is done`,
  ],
  [
    'no action',
    single({ actionName: 'x' }),
    [90],
    `${CPU} is 90, above 80, in 1 round in a row; there is no AvoidanceAction x, so nothing is done`,
  ],
  [
    'no action and no data',
    single({ actionName: 'x' }),
    [undefined],
    `metric ${CPU} has no series now; there is no AvoidanceAction x, so nothing is done`,
  ],
])('because: %s', (_name, input, values, because) => {
  const rounds = new Rounds(input);
  const last = values.map((value) => rounds.value(value)).at(-1);
  expect(last?.findings.map((finding) => finding.because)).toEqual([because]);
});

test('names in a reason are shown safely, and shortened', () => {
  const rule = ruleOf('r', {}, { name: `\u001b[2J${'x'.repeat(200)}` });
  const rounds = new Rounds({ nodeQoss: [nodeQosOf('q', [rule])] });
  const { because } = rounds.run({ metrics: metricsOf({ [rule.metric.name]: [seriesOf(90, { a: '\u202e' })] }) })
    .findings[0]!;
  expect(because).toMatch(/^\\u001b\[2Jx+… \(\d+ characters\) of a=\\u202e is 90/);
});

test('a NodeQOS counts only on nodes that its selector matches', () => {
  const selector = { matchLabels: { pool: 'batch' }, matchExpressions: [] };
  const rounds = new Rounds({
    nodeQoss: [nodeQosOf('q', [ruleOf('r')], { selector }), nodeQosOf('all', [ruleOf('r')])],
  });
  expect(rounds.value(90, { nodeLabels: { pool: 'web' } }).findings.map(({ key }) => key)).toEqual(['all/r']);
  expect(rounds.value(90, { nodeLabels: { pool: 'batch' } }).findings.map(({ key }) => key)).toEqual(['q/r', 'all/r']);
});

const selector = { matchLabels: { pool: 'batch' }, matchExpressions: [] };
const gone: readonly [string, Partial<AnalysisInput>, string][] = [
  ['its NodeQOS', { nodeQoss: [] }, 'it had triggered, and NodeQOS q is gone: counted as restored'],
  [
    'the rule',
    { nodeQoss: [nodeQosOf('q', [ruleOf('other')])] },
    'it had triggered, and the rule is gone: counted as restored',
  ],
  [
    'the label of the node',
    { nodeQoss: [nodeQosOf('q', [ruleOf('r')], { selector })], nodeLabels: {} },
    'it had triggered, and NodeQOS q no longer matches the labels of this node: counted as restored',
  ],
  [
    'the action',
    { actions: byName() },
    'it had triggered, and there is no AvoidanceAction throttle now: counted as restored',
  ],
  [
    'the name of the action, for another',
    { nodeQoss: [nodeQosOf('q', [ruleOf('r', { actionName: 'evict' })])] },
    'it had triggered action throttle, and has action evict now: counted as restored',
  ],
  [
    'the strategy None, for Preview',
    { nodeQoss: [nodeQosOf('q', [ruleOf('r', { strategy: 'Preview' })])] },
    'it had triggered action throttle, and is a preview now: counted as restored',
  ],
];

test.each(gone)('what had triggered counts as restored, once, when this is gone: %s', (_name, change, because) => {
  const rounds = new Rounds({
    nodeQoss: [nodeQosOf('q', [ruleOf('r', { avoidanceThreshold: 2 })], { selector })],
    nodeLabels: { pool: 'batch' },
    actions: byName(actionOf('throttle'), actionOf('evict')),
  });
  rounds.value(90);
  rounds.value(90);
  const all = [rounds.value(90, change), rounds.value(90), rounds.value(90)].flatMap(({ findings }) => findings);
  const restored = all.filter(({ key, state }) => key === 'q/r' && state === 'restored');
  expect(restored).toEqual([
    expect.objectContaining({
      because,
      hasTriggered: false,
      isPreview: false,
      actionName: 'throttle',
      action: actionOf('throttle'),
      event: { type: 'Normal', reason: 'RestoreTriggered', message: 'q/r restored action throttle' },
    }),
  ]);
});

test.each(gone)('what had not triggered is forgotten without a word when this is gone: %s', (_name, change) => {
  const rounds = new Rounds({
    nodeQoss: [nodeQosOf('q', [ruleOf('r', { avoidanceThreshold: 9 })], { selector })],
    nodeLabels: { pool: 'batch' },
    actions: byName(actionOf('throttle'), actionOf('evict')),
  });
  rounds.value(90);
  const { findings } = rounds.value(70, change);
  expect(findings.filter(({ state }) => state === 'restored')).toEqual([]);
});

test('a rule that comes back counts from the start', () => {
  const nodeQoss = [nodeQosOf('q', [ruleOf('r', { avoidanceThreshold: 2 })])];
  const rounds = new Rounds({ nodeQoss });
  rounds.value(90);
  rounds.value(90, { nodeQoss: [] });
  expect(rounds.remembered.rules.size).toBe(0);
  expect(rounds.value(90, { nodeQoss }).findings[0]).toMatchObject({ state: 'firing', above: 1 });
});

test('an action that appears while its rule is triggered is in force from then on', () => {
  const rounds = new Rounds({ actions: byName() });
  expect(rounds.value(90)).toMatchObject({ findings: [{ state: 'triggered' }], scheduling: { disabled: false } });
  expect(rounds.value(90, { actions: byName(actionOf('throttle')) })).toMatchObject({
    findings: [{ state: 'triggered', action: actionOf('throttle') }],
    scheduling: { disabled: true },
  });
});

test('a rule that has triggered stays triggered when it would need more rounds now', () => {
  const rounds = new Rounds();
  rounds.value(90);
  const nodeQoss = [nodeQosOf('q', [ruleOf('r', { avoidanceThreshold: 5 })])];
  expect(rounds.value(90, { nodeQoss }).findings[0]).toMatchObject({ state: 'triggered' });
  expect(rounds.value(70).findings[0]).toMatchObject({ state: 'restored' });
  expect(rounds.value(90).findings[0]).toMatchObject({ state: 'firing', above: 1 });
});

test('the input and the state before are not changed', () => {
  const freeze = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
    return value;
  };
  const rounds = new Rounds({ nodeQoss: freeze([nodeQosOf('q', [ruleOf('r')])]) });
  const first = rounds.value(90).state;
  const copy = structuredClone(first);
  rounds.value(70);
  expect(first).toEqual(copy);
});
