import { CpuSet } from '../../../src/core/cpuset';
import { reconcile, type DriftPolicy, type Judged } from '../../../src/core/transition';
import type { Observation } from '../../../src/core/verdict/observation';
import { cpus, NodeDriver } from './node-driver';

/** Observations of the kernel, from `p/a#1 1,5; q/s#1 gone`. */
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
  name                                                                    | kernel                          | moves                                 | verdicts
  ${'a cpuset as promised needs no move'}                                 | ${'p/a#1 1,5; q/s#1 0,2-4,6-7'} | ${''}                                 | ${'kept kept'}
  ${'a drifted container is moved back'}                                  | ${'p/a#1 0-7; q/s#1 0,2-4,6-7'} | ${'p/a#1 0-7>1,5'}                    | ${'drifted kept'}
  ${'a shared container on exclusive CPUs is moved back'}                 | ${'p/a#1 1,5; q/s#1 0-7'}       | ${'q/s#1 0-7>0,2-4,6-7'}              | ${'kept drifted'}
  ${'of two drifted containers the one on CPUs of others is moved first'} | ${'p/a#1 1; q/s#1 0-7'}         | ${'q/s#1 0-7>0,2-4,6-7; p/a#1 1>1,5'} | ${'drifted drifted'}
  ${'a container whose cgroup is gone is not moved'}                      | ${'p/a#1 gone; q/s#1 0-7'}      | ${'q/s#1 0-7>0,2-4,6-7'}              | ${'pending drifted'}
  ${'an unknown container is skipped'}                                    | ${'x/y#1 0-7; p/a#1 1,5'}       | ${''}                                 | ${'kept'}
`('$name', ({ kernel, moves, verdicts }: { kernel: string; moves: string; verdicts: string }) => {
  const node = new NodeDriver().run(history);
  const judged = sweep(node, kernel);
  expect({ moves: node.movesMade, verdicts: judged.map(({ verdict }) => verdict.kind).join(' ') }).toEqual({
    moves,
    verdicts,
  });
});

test('given a repair, then no assignment changes and nothing has to be saved', () => {
  const node = new NodeDriver().run(history);
  sweep(node, 'p/a#1 0-7');
  expect(node.isDurable).toBe(false);
});

test('given a container that another program moved to its promised CPUs, when the promise changes, then it is moved', () => {
  const node = new NodeDriver().run(history);
  const shared = node.container('q/s')!;
  const stale = { cpus: cpus('0,3-4,7'), mems: CpuSet.empty };
  node.model.apply({ kind: 'put-container', container: { ...shared, applied: stale } });
  sweep(node, 'q/s#1 0,2-4,6-7');
  expect(node.movesMade).toBe('');
  node.run('ask r/b 2'); // takes 2,6: the pool becomes the cpuset that was recorded as applied
  expect(node.movesMade).toBe('q/s#1 0,2-4,6-7>0,3-4,7');
});

test('given a drift in the kernel, then the record of the runtime counts as unknown', () => {
  const node = new NodeDriver().run(history);
  expect(node.container('p/a')?.runtimeRecord?.cpus.toString()).toBe('1,5');
  sweep(node, 'p/a#1 0-7');
  expect(node.container('p/a')?.runtimeRecord).toBeUndefined();
});

test.each(['wait', 'stop'] as const)(
  'given a drift whose repair is to %s, then it is shown and not repaired',
  (action) => {
    const node = new NodeDriver().run(history);
    const decided = { history: {} as never };
    const judged = sweep(node, 'p/a#1 0-7', {
      explain: () => ({ cause: 'unknown-writer', because: 'someone' }),
      decideRepair: () => (action === 'wait' ? { action, ...decided, untilMs: 1 } : { action, ...decided }),
    });
    expect(node.movesMade).toBe('');
    expect(judged).toMatchObject([{ verdict: { kind: 'drifted' }, drift: { action, cause: 'unknown-writer' } }]);
    expect(judged[0]!.verdict.because).toMatch(/likely cause: someone; .*repair/);
  },
);
