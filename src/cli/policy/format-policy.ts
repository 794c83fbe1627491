import { formatDuration } from '../../scheduling/policy/go-duration';
import { periodOf, type SchedulerPolicy } from '../../scheduling/policy/policy';
import { formatData, type DataFormat } from '../format/data';
import { formatTable } from '../format/table';

/** The policy as a table with a row for each metric and each rule, or as data. */
export async function formatPolicy(policy: SchedulerPolicy, format: 'table' | DataFormat): Promise<string> {
  if (format !== 'table') return formatData(policy, format);
  const { syncPolicy, predicate, priority, hotValue, wholeCpus } = policy;
  const weights = priority.reduce((sum, { weight }) => sum + weight, 0);
  const metrics = [...new Set(syncPolicy.map(({ name }) => name))].map((name) => [
    name,
    formatDuration(periodOf(policy, name) ?? 0),
    predicate
      .filter((each) => each.name === name && each.maxLimit > 0)
      .map(({ maxLimit }) => `> ${maxLimit}`)
      .join(', '),
    priority
      .filter((each) => each.name === name)
      .map(({ weight }) => `${Math.round((weight / weights) * 100)} %`)
      .join(', '),
  ]);
  const hot = hotValue.map(({ timeRangeMs, count }) => [
    `each ${count} in ${formatDuration(timeRangeMs)}`,
    '10 points less',
  ]);
  const cpus = wholeCpus && [['whole CPUs', `${wholeCpus.strategy}, weight ${wholeCpus.weight}`]];
  const others = [
    ...hot.map(([condition, effect]) => [`pods bound to a node, ${condition}`, effect!]),
    ...(cpus ?? []),
  ];
  const tables = [formatTable(['METRIC', 'READ EVERY', 'NODE LEFT OUT', 'PART OF SCORE'], metrics)];
  if (others.length > 0) tables.push(formatTable(['SCORE', 'EFFECT'], others));
  return tables.join('\n');
}
