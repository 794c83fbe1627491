import { checkRepair, judgeReadBack } from '../../../src/app/reconcile/judge-read-back';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import { judge } from '../../../src/core/verdict/judge';
import type { Observation } from '../../../src/core/verdict/observation';
import { NodeDriver } from '../../core/transition/node-driver';

const node = new NodeDriver();
node.run('make p/a 2');
const promised = node.model.containers.get('p/a#1')!;
const other = { ...promised.promise!, cpus: parseCpuList('0') };

/** What the kernel has: a CPU list, or a word for a reading without one. */
function reading(text: string): Observation {
  if (text === 'gone') return { kind: 'gone' };
  if (text === 'unreadable') return { kind: 'unreadable', because: 'EACCES' };
  const cpus = parseCpuList(text);
  return { kind: 'seen', cpus, effective: cpus, mems: promised.promise!.mems };
}

const applied: Container = { ...promised, applied: promised.promise! };
const failed: Container = { ...promised, applied: other };
const containers: Readonly<Record<string, Container>> = { applied, failed };

test('the example is promised CPUs 1 and 5', () => {
  expect(promised.promise!.cpus.toString()).toBe('1,5');
});

test.each`
  given                                                      | move         | kernel          | want
  ${'a move that was applied, and that the kernel has'}      | ${'applied'} | ${'1,5'}        | ${'kept'}
  ${'another cpuset after a move that was applied'}          | ${'applied'} | ${'0'}          | ${'to be repaired'}
  ${'another cpuset after a move that failed'}               | ${'failed'}  | ${'0'}          | ${'pending, unapplied'}
  ${'the promised cpuset after a move that had failed'}      | ${'failed'}  | ${'1,5'}        | ${'to be repaired'}
  ${'a cgroup that is gone after a move that was applied'}   | ${'applied'} | ${'gone'}       | ${'pending'}
  ${'a cgroup that cannot be read after a move that failed'} | ${'failed'}  | ${'unreadable'} | ${'unknown'}
`('$given is $want', ({ move, kernel, want }: Record<string, string>) => {
  const judged = judgeReadBack(node.model, containers[move!]!, reading(kernel!));
  const shown = judged ? judged.verdict.kind + (judged.isUnapplied ? ', unapplied' : '') : 'to be repaired';
  expect(shown).toBe(want);
});

test.each`
  given                                            | move         | kernel          | want
  ${'the promised cpuset after a write'}           | ${'applied'} | ${'1,5'}        | ${'ok'}
  ${'the promised cpuset though the write failed'} | ${'failed'}  | ${'1,5'}        | ${'ok'}
  ${'another cpuset after a write that succeeded'} | ${'applied'} | ${'0'}          | ${'undone'}
  ${'another cpuset after a write that failed'}    | ${'failed'}  | ${'0'}          | ${'refused'}
  ${'a cgroup that cannot be read'}                | ${'applied'} | ${'unreadable'} | ${'unreadable'}
  ${'a cgroup that is gone'}                       | ${'failed'}  | ${'gone'}       | ${'gone'}
`('a repair of which $given is read has the result $want', ({ move, kernel, want }: Record<string, string>) => {
  const container = containers[move!]!;
  const observation = reading(kernel!);
  expect(checkRepair(container, observation, judge(node.model, container, observation))).toBe(want);
});
