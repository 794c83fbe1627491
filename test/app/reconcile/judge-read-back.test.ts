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

/** An observation of this CPU list, or of a cgroup that is `gone` or `unreadable`. */
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
  given                                          | move         | kernel          | want
  ${'an applied move and the promised cpuset'}   | ${'applied'} | ${'1,5'}        | ${'kept'}
  ${'an applied move and another cpuset'}        | ${'applied'} | ${'0'}          | ${'to be repaired'}
  ${'a failed move and another cpuset'}          | ${'failed'}  | ${'0'}          | ${'pending, unapplied'}
  ${'a failed move and the promised cpuset'}     | ${'failed'}  | ${'1,5'}        | ${'to be repaired'}
  ${'an applied move and a cgroup that is gone'} | ${'applied'} | ${'gone'}       | ${'pending'}
  ${'a failed move and an unreadable cgroup'}    | ${'failed'}  | ${'unreadable'} | ${'unknown'}
`('$given: $want', ({ move, kernel, want }: Record<string, string>) => {
  const judged = judgeReadBack(node.model, containers[move!]!, reading(kernel!));
  const shown = judged ? judged.verdict.kind + (judged.isUnapplied ? ', unapplied' : '') : 'to be repaired';
  expect(shown).toBe(want);
});

test.each`
  given                                        | move         | kernel          | want
  ${'a repair and the promised cpuset'}        | ${'applied'} | ${'1,5'}        | ${'ok'}
  ${'a failed repair and the promised cpuset'} | ${'failed'}  | ${'1,5'}        | ${'ok'}
  ${'a repair and another cpuset'}             | ${'applied'} | ${'0'}          | ${'undone'}
  ${'a failed repair and another cpuset'}      | ${'failed'}  | ${'0'}          | ${'refused'}
  ${'a repair and an unreadable cgroup'}       | ${'applied'} | ${'unreadable'} | ${'unreadable'}
  ${'a repair and a cgroup that is gone'}      | ${'failed'}  | ${'gone'}       | ${'gone'}
`('$given: $want', ({ move, kernel, want }: Record<string, string>) => {
  const container = containers[move!]!;
  const observation = reading(kernel!);
  expect(checkRepair(container, observation, judge(node.model, container, observation))).toBe(want);
});
