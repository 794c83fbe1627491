import { CpuSet } from '../../../src/core/cpuset';
import { reconcile, type DriftPolicy, type Judged } from '../../../src/core/transition';
import type { Observation } from '../../../src/core/verdict/observation';
import { cpus, NodeDriver } from './node-driver';

/** `p/a#1 1,5; q/s#1 gone`: what the kernel has for each. */
function sweep(node: NodeDriver, kernel: string, policy?: DriftPolicy): readonly Judged[] {
  const observations = new Map<string, Observation>(
    kernel.split(';').map((line) => {
      const [id = '', list = ''] = line.trim().split(' ');
      const set = list === 'gone' ? CpuSet.empty : cpus(list);
      return [id, list === 'gone' ? { kind: 'gone' } : { kind: 'seen', cpus: set, effective: set, mems: cpus('0') }];
    }),
  );
  let judged: readonly Judged[] = [];
  node.change((draft) => {
    const outcome = reconcile(draft, observations, policy);
    judged = outcome.judged;
    return outcome.moves;
  });
  return judged;
}

const history = 'make p/a 2; make q/s 0';

test.each`
  name                                            | kernel                          | moves                                 | verdicts
  ${'all is as promised: nothing to do'}          | ${'p/a#1 1,5; q/s#1 0,2-4,6-7'} | ${''}                                 | ${'kept kept'}
  ${'a drifted one is put back'}                  | ${'p/a#1 0-7; q/s#1 0,2-4,6-7'} | ${'p/a#1 0-7>1,5'}                    | ${'drifted kept'}
  ${'a shared one on exclusive CPUs is put back'} | ${'p/a#1 1,5; q/s#1 0-7'}       | ${'q/s#1 0-7>0,2-4,6-7'}              | ${'kept drifted'}
  ${'both: who leaves CPUs of others goes first'} | ${'p/a#1 1; q/s#1 0-7'}         | ${'q/s#1 0-7>0,2-4,6-7; p/a#1 1>1,5'} | ${'drifted drifted'}
  ${'one that is gone is let alone'}              | ${'p/a#1 gone; q/s#1 0-7'}      | ${'q/s#1 0-7>0,2-4,6-7'}              | ${'pending drifted'}
  ${'one that nobody knows is passed over'}       | ${'x/y#1 0-7; p/a#1 1,5'}       | ${''}                                 | ${'kept'}
`('$name', ({ kernel, moves, verdicts }: { kernel: string; moves: string; verdicts: string }) => {
  const node = new NodeDriver().run(history);
  const judged = sweep(node, kernel);
  expect({ moves: node.movesMade, verdicts: judged.map(({ verdict }) => verdict.kind).join(' ') }).toEqual({
    moves,
    verdicts,
  });
});

test('a repair changes no assignment, so it needs no save', () => {
  const node = new NodeDriver().run(history);
  sweep(node, 'p/a#1 0-7');
  expect(node.isDurable).toBe(false);
});

test('one that has what was promised, by whatever means, is moved again when the promise changes', () => {
  const node = new NodeDriver().run(history);
  const shared = node.container('q/s')!;
  const stale = { cpus: cpus('0,3-4,7'), mems: CpuSet.empty };
  node.model.apply({ kind: 'put-container', container: { ...shared, told: stale } });
  sweep(node, 'q/s#1 0,2-4,6-7');
  expect(node.movesMade).toBe('');
  node.run('ask r/b 2'); // takes 2,6: the pool becomes what was believed to be in place already
  expect(node.movesMade).toBe('q/s#1 0,2-4,6-7>0,3-4,7');
});

test('what drifted in the kernel counts as unknown in the record of the runtime', () => {
  const node = new NodeDriver().run(history);
  expect(node.container('p/a')?.recorded?.cpus.toString()).toBe('1,5');
  sweep(node, 'p/a#1 0-7');
  expect(node.container('p/a')?.recorded).toBeUndefined();
});

test.each(['wait', 'stop'] as const)('a drift whose repair is to %s is told and not repaired', (action) => {
  const node = new NodeDriver().run(history);
  const decided = { history: {} as never };
  const judged = sweep(node, 'p/a#1 0-7', {
    explain: () => ({ cause: 'unknown-writer', because: 'someone' }),
    restrain: () => (action === 'wait' ? { action, ...decided, untilMs: 1 } : { action, ...decided }),
  });
  expect(node.movesMade).toBe('');
  expect(judged).toMatchObject([{ verdict: { kind: 'drifted' }, drift: { action, cause: 'unknown-writer' } }]);
  expect(judged[0]!.verdict.because).toMatch(/likely cause: someone; .*repair/);
});
