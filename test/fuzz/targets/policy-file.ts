import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePolicy } from '../../../src/scheduling/policy/parse-policy';

export const maxBytes = 16_384;

const PATH = 'policy.yaml';
/** Names that stand for ten of the one before, nine times. */
const BOMB = `a0: &a0 x\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join()}]`).join('\n')}\n`;

export const seeds = (fixtures: string): readonly Uint8Array[] => [
  readFileSync(join(fixtures, '../../deploy/scheduling/policy.yaml')),
  ...[
    BOMB,
    'apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\nspec: { priority: 1 }\n',
    'spec: { hotValue: [{ timeRange: 5m, count: 0 }], wholeCPUs: { strategy: MostAllocated, weight: 2 } }',
    'a: !!js/function x\n--- \nb',
  ].map((text) => Buffer.from(text)),
];

/** Any text is a policy whose numbers can be counted with, or problems with their lines. */
export function fuzz(data: Buffer): void {
  const read = parsePolicy(data.toString('utf8'), PATH);
  if (!read.ok) {
    if (read.problems.length === 0) throw new Error('refused without a problem');
    for (const problem of read.problems)
      if (!/^policy\.yaml(:\d+)?: ./s.test(problem)) throw new Error(`no place: ${problem}`);
    return;
  }
  const { syncPolicy, predicate, priority, hotValue, wholeCpus } = read.policy;
  const positive = [
    ...syncPolicy.map(({ periodMs }) => periodMs),
    ...hotValue.flatMap(({ timeRangeMs, count }) => [timeRangeMs, count]),
    ...(wholeCpus ? [wholeCpus.weight] : []),
  ];
  const others = [...predicate.map(({ maxLimit }) => maxLimit), ...priority.map(({ weight }) => weight)];
  for (const number of positive) if (!(number >= 0)) throw new Error(`the number ${number}`);
  for (const number of others) if (!Number.isFinite(number) || number < 0) throw new Error(`the number ${number}`);
}
