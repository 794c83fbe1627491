import { promiseOf } from '../../../src/core/plan/promise';
import { Draft, planChanges } from '../../../src/core/transition';
import { machineOf, NodeDriver, without } from '../transition/node-driver';

describe('the order of moves', () => {
  test('containers that leave CPUs are moved first, those that only gain CPUs last', () => {
    const node = new NodeDriver().run('make q/s 0; make q/t 0; make p/a 2');
    // The container grows by two CPUs, and shared containers leave them first.
    expect(node.run('resize p/a 4').movesMade).toBe(
      'q/s#1 0,2-4,6-7>0,3-4,7; q/t#1 0,2-4,6-7>0,3-4,7; p/a#1 1,5>1-2,5-6',
    );
    // The container shrinks by two CPUs, and leaves them before the pool gets them.
    expect(node.run('resize p/a 2').movesMade).toBe(
      'p/a#1 1-2,5-6>1,5; q/s#1 0,3-4,7>0,2-4,6-7; q/t#1 0,3-4,7>0,2-4,6-7',
    );
  });

  test('a container with an unknown cpuset counts as leaving CPUs', () => {
    const node = new NodeDriver().run('make q/s 0; know p/a 2; starting p/a; make q/t 0');
    node.model.apply({ kind: 'put-container', container: { ...node.container('q/t')!, applied: undefined } as never });
    expect(node.run('remove p').movesMade).toBe('q/t#1 ?>0-7; q/s#1 0,2-4,6-7>0-7');
  });
});

test.each`
  name                                                          | history                                     | moves
  ${'nothing changed, nothing moves'}                           | ${'make q/s 0; pod p'}                      | ${''}
  ${'a container without a cgroup is not moved'}                | ${'create q/s 0; make p/a 2; pod r'}        | ${''}
  ${'a container under creation is not moved'}                  | ${'ask q/s 0; ask p/a 2'}                   | ${''}
  ${'a container is moved at its start'}                        | ${'create q/s 0; make p/a 2; starting q/s'} | ${'q/s#1 0-7>0,2-4,6-7'}
  ${'exclusive containers do not move when others are created'} | ${'make p/a 2; make q/b 2'}                 | ${''}
`('$name', ({ history, moves }: { history: string; moves: string }) => {
  expect(new NodeDriver().run(history).movesMade).toBe(moves);
});

test('the promise of a container that has not started is renewed too', () => {
  const node = new NodeDriver().run('create q/s 0; make p/a 2');
  expect(node.container('q/s')?.promise?.cpus.toString()).toBe('0,2-4,6-7');
  expect(node.container('q/s')?.applied?.cpus.toString()).toBe('0-7');
});

test('the reason of a move is that of the container', () => {
  const node = new NodeDriver().run('make q/s 0; make p/a 2; resize p/a 4');
  expect(node.moves.map(({ containerId, because }) => `${containerId}: ${because}`)).toEqual([
    'q/s#1: the shared pool changed',
    expect.stringMatching(/^p\/a#1: 4 exclusive CPUs, 2 its own before and 2 free on the node/),
  ]);
});

test('a container that was left alone is in the pool as soon as a container owns CPUs', () => {
  const node = new NodeDriver(undefined, { cpuManagerPolicy: 'none' }).run('make q/s 2');
  expect(node.container('q/s')).toMatchObject({ placement: 'left-alone' });
  node.setRules({});
  expect(node.run('make p/a 2').container('q/s')).toMatchObject({ placement: 'shared' });
  expect(node.container('q/s')?.promise?.cpus.toString()).toBe('0,2-4,6-7');
});

test('a container whose CPUs went to a newer one of its name shares', () => {
  const node = new NodeDriver().run('make p/a 2; ask p/a 2');
  expect(node.movesMade).toBe('p/a#1 1,5>0,2-4,6-7');
  expect(node.container('p/a#1')).toMatchObject({ placement: 'shared', because: expect.stringMatching(/newer/) });
});

describe('CPUs go offline', () => {
  const machine = machineOf(8, 1);
  const node = () => new NodeDriver(machine).run('make p/a 2; make q/s 0');

  test.each`
    name                                              | gone       | exclusive  | pool
    ${'one of the pool'}                              | ${'5'}     | ${'1-2'}   | ${'0,3-4,6-7'}
    ${'one of an exclusive set: the rest of it'}      | ${'2'}     | ${'1'}     | ${'0,3-7'}
    ${'all of an exclusive set: it runs in the pool'} | ${'1-2'}   | ${'0,3-7'} | ${'0,3-7'}
    ${'all that is not exclusive: the pool overlaps'} | ${'0,3-7'} | ${'1-2'}   | ${'1-2'}
  `('$name', ({ gone, exclusive, pool }: { gone: string; exclusive: string; pool: string }) => {
    const running = node();
    running.setTopology(without(machine, gone));
    const promised = ['p/a', 'q/s'].map((target) => promiseOf(running.model, running.container(target)!));
    expect(promised.map((promise) => promise?.cpus.toString())).toEqual([exclusive, pool]);
    expect(running.container('p/a')).toMatchObject({ placement: 'exclusive' });

    running.setTopology(machine);
    expect(running.container('p/a')?.applied?.cpus.toString()).toBe('1-2');
    expect(running.container('q/s')?.applied?.cpus.toString()).toBe('0,3-7');
  });
});

test('planning twice plans nothing more', () => {
  const node = new NodeDriver().run('make q/s 0; make p/a 2');
  const draft = new Draft(node.model, '');
  draft.put({ kind: 'set-topology', topology: node.model.topology });
  expect(planChanges(draft)).toEqual([]);
});
