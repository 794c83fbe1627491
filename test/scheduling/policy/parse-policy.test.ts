import fc from 'fast-check';
import { parsePolicy } from '../../../src/scheduling/policy/parse-policy';

const head = ['apiVersion: scheduler.policy.crane.io/v1alpha1', 'kind: DynamicSchedulerPolicy', 'spec:'];
const sync = ['  syncPolicy:', '    - name: cpu', '      period: 3m'];

/** The problems of a file with these lines; empty when it is fine. */
function problemsOf(lines: readonly string[]): readonly string[] {
  const parsed = parsePolicy(lines.join('\n'), 'policy.yaml');
  return parsed.ok ? [] : parsed.problems;
}
function remarksOf(lines: readonly string[]): readonly string[] {
  const parsed = parsePolicy(lines.join('\n'), 'policy.yaml');
  if (!parsed.ok) throw new Error(parsed.problems.join('\n'));
  return parsed.remarks;
}

test('given all lists, and whole CPUs: the policy', () => {
  const text = [
    ...head,
    ...sync,
    '  predicate: [{ name: cpu, maxLimitPecent: 0.65 }]',
    '  priority: [{ name: cpu, weight: 2 }]',
    '  hotValue: [{ timeRange: 1h30m, count: 5 }]',
    '  wholeCPUs: { strategy: MostAllocated, weight: 3 }',
  ].join('\n');
  expect(parsePolicy(text, 'policy.yaml')).toEqual({
    ok: true,
    remarks: [],
    policy: {
      syncPolicy: [{ name: 'cpu', periodMs: 180_000 }],
      predicate: [{ name: 'cpu', maxLimit: 0.65 }],
      priority: [{ name: 'cpu', weight: 2 }],
      hotValue: [{ timeRangeMs: 5_400_000, count: 5 }],
      wholeCpus: { strategy: 'MostAllocated', weight: 3 },
    },
  });
});

test('given JSON, and lists that are missing or empty: they are empty', () => {
  const text = JSON.stringify({
    apiVersion: 'scheduler.policy.crane.io/v1alpha1',
    kind: 'DynamicSchedulerPolicy',
    spec: { syncPolicy: [], predicate: null },
  });
  expect(parsePolicy(text, 'policy.json')).toMatchObject({
    ok: true,
    policy: { syncPolicy: [], predicate: [], priority: [] },
  });
});

test('given a weight of 0 for whole CPUs: they are off', () => {
  const parsed = parsePolicy(
    [...head, ...sync, '  wholeCPUs: { strategy: LeastAllocated, weight: 0 }'].join('\n'),
    'f',
  );
  expect(parsed).toMatchObject({ ok: true });
  expect(parsed.ok && parsed.policy.wholeCpus).toBeUndefined();
});

test.each`
  name                               | line                                                   | problem
  ${'an empty name'}                 | ${'  priority: [{ name: "", weight: 1 }]'}             | ${'spec.priority[0].name: is missing; write the name of a metric'}
  ${'a name that is no metric'}      | ${'  priority: [{ name: cpu-usage, weight: 1 }]'}      | ${'spec.priority[0].name: cpu-usage is no name of a metric; use letters, digits and _'}
  ${'a name that no annotation has'} | ${'  priority: [{ name: _cpu, weight: 1 }]'}           | ${"spec.priority[0].name: _cpu can't be an annotation; use at most 63 letters, digits and _, with a letter or digit at both ends"}
  ${'the name of the hot value'}     | ${'  priority: [{ name: node_hot_value, weight: 1 }]'} | ${'spec.priority[0].name: node_hot_value is the annotation of the hot value; choose another metric'}
  ${'a metric that is not read'}     | ${'  predicate: [{ name: mem, maxLimitPecent: 1 }]'}   | ${'spec.predicate[0].name: mem is not in syncPolicy, so it never has a figure; add it there, or remove it here'}
  ${'a negative limit'}              | ${'  predicate: [{ name: cpu, maxLimitPecent: -1 }]'}  | ${'spec.predicate[0].maxLimitPecent: must be a ratio such as 0.65, or 0 for no limit'}
  ${'a limit that is a text'}        | ${'  predicate: [{ name: cpu, maxLimitPecent: 65% }]'} | ${'spec.predicate[0].maxLimitPecent: must be a ratio such as 0.65, or 0 for no limit'}
  ${'the right spelling of it'}      | ${'  predicate: [{ name: cpu, maxLimitPercent: 1 }]'}  | ${'spec.predicate[0].maxLimitPercent: no such field; write maxLimitPecent, as crane-scheduler spells it'}
  ${'a negative weight'}             | ${'  priority: [{ name: cpu, weight: -1 }]'}           | ${'spec.priority[0].weight: must be a number of at least 0'}
  ${'weights of 0'}                  | ${'  priority: [{ name: cpu, weight: 0 }]'}            | ${'spec.priority: all weights are 0; give one a weight above 0'}
  ${'a count of 0'}                  | ${'  hotValue: [{ timeRange: 1m, count: 0 }]'}         | ${'spec.hotValue[0].count: must be a whole number of at least 1'}
  ${'a count that is not whole'}     | ${'  hotValue: [{ timeRange: 1m, count: 1.5 }]'}       | ${'spec.hotValue[0].count: must be a whole number of at least 1'}
  ${'a range of 0'}                  | ${'  hotValue: [{ timeRange: 0s, count: 1 }]'}         | ${'spec.hotValue[0].timeRange: must be longer than 0'}
  ${'a range without a unit'}        | ${'  hotValue: [{ timeRange: 5, count: 1 }]'}          | ${'spec.hotValue[0].timeRange: must be a duration such as 3m or 1h30m'}
  ${'an endless range'}              | ${'  hotValue: [{ timeRange: 9999h, count: 1 }]'}      | ${'spec.hotValue[0].timeRange: must not be longer than seven days'}
  ${'no list'}                       | ${'  priority: 5'}                                     | ${'spec.priority: must be a list'}
  ${'an entry that is no mapping'}   | ${'  priority: [cpu]'}                                 | ${'spec.priority[0]: must be a mapping with name, weight'}
  ${'a list in the plural'}          | ${'  priorities: []'}                                  | ${undefined}
  ${'a slip in the name of a list'}  | ${'  hotvalue: []'}                                    | ${'spec.hotvalue: no such field; write hotValue'}
  ${'an unknown strategy'}           | ${'  wholeCPUs: { strategy: Pack, weight: 1 }'}        | ${'spec.wholeCPUs.strategy: must be MostAllocated (pack) or LeastAllocated (spread)'}
`('given $name: the problem with its line', ({ line, problem }: { line: string; problem: string | undefined }) => {
  const problems = problemsOf([...head, ...sync, line]);
  if (problem === undefined) expect(problems).toEqual([]);
  else expect(problems).toContain(`policy.yaml:7: ${problem}`);
});

test.each(['0s', '-3m'])('given a period of %s: it must be longer than 0', (period) => {
  expect(problemsOf([...head, '  syncPolicy:', '    - name: cpu', `      period: ${period}`])).toEqual([
    'policy.yaml:6: spec.syncPolicy[0].period: must be longer than 0',
  ]);
});

test('given another kind, and no spec: each is a problem', () => {
  expect(problemsOf(['apiVersion: v1', 'kind: Policy'])).toEqual([
    'policy.yaml:1: apiVersion: must be scheduler.policy.crane.io/v1alpha1',
    'policy.yaml:2: kind: must be DynamicSchedulerPolicy',
    'policy.yaml:1: spec: must be a mapping with syncPolicy, predicate, priority, hotValue, wholeCPUs',
  ]);
});

test.each(['', '[]', 'text', '{', 'a: b: c', 'spec: &a [*a]', '['.repeat(100)])(
  'given the file %j: problems, and no exception',
  (text) => {
    const parsed = parsePolicy(text, 'f');
    expect(!parsed.ok && parsed.problems.every((problem) => /^f:\d+: \w/.test(problem))).toBe(true);
  },
);

test('given two entries of a metric, and unknown fields: remarks with their lines', () => {
  expect(remarksOf([...head, ...sync, '    - { name: cpu, period: 5m }', '  extra: 1'])).toEqual([
    'policy.yaml:8: spec.extra: no such field; it has no effect',
    'policy.yaml:7: spec.syncPolicy[1]: cpu is there already; the first entry counts',
  ]);
});

test('given more entries than a policy may have: a problem', () => {
  const entries = Array.from({ length: 65 }, (_, i) => `{ name: m${i}, period: 1m }`);
  expect(problemsOf([...head, `  syncPolicy: [${entries.join(', ')}]`])).toEqual([
    'policy.yaml:4: spec.syncPolicy: has 65 entries; the most are 64',
  ]);
});

test('given a file that is wrong in many places: at most twenty problems, and the number of the others', () => {
  const entries = Array.from({ length: 40 }, () => '{ name: cpu, weight: -1 }');
  const problems = problemsOf([...head, ...sync, `  priority: [${entries.join(', ')}]`]);
  expect(problems).toHaveLength(21);
  expect(problems.at(-1)).toMatch(/^policy.yaml: \d+ more lines/);
});

test('given any text: a policy or problems', () => {
  const word = fc.constantFrom(
    'spec',
    'syncPolicy',
    'name',
    'period',
    ': ',
    '\n  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '*a',
    '&a',
    '"',
    '3m',
    '0',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(word).map((words) => words.join('')),
      ),
      (text) => {
        const parsed = parsePolicy(text, 'f');
        expect(parsed.ok || parsed.problems.length > 0).toBe(true);
      },
    ),
  );
});
