import { Draft, handle } from '../../../src/core/transition';
import { NodeDriver, resourcesOf } from './node-driver';

const phaseOf = (node: NodeDriver, target: string) => node.container(target)?.phase ?? 'not known';

test('given the events of a container from creation to removal, then its phase follows them', () => {
  const node = new NodeDriver();
  const phases = 'pod p;ask p/a 2;created p/a;starting p/a;started p/a;end p/a;forget p/a'
    .split(';')
    .map((step) => phaseOf(node.run(step), 'p/a'));
  expect(phases).toEqual(['not known', 'creating', 'created', 'starting', 'running', 'not known', 'not known']);
});

test.each`
  name                                                                  | history                                               | phase          | state
  ${'a start event after its end does not bring a container back'}      | ${'create p/a 2; starting p/a; end p/a; started p/a'} | ${'not known'} | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'an unknown container at PostStart is not placed: it runs already'} | ${'know p/a 2; started p/a'}                          | ${'not known'} | ${'pool 0-7'}
  ${'an unknown container is adopted when it is created'}               | ${'know p/a 2; created p/a'}                          | ${'created'}   | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'an unknown container is adopted before its process runs'}          | ${'know p/a 2; starting p/a'}                         | ${'starting'}  | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'an unknown container that does not fit shares'}                    | ${'make q/x 6; know p/a 2; created p/a'}              | ${'created'}   | ${'q/x 1-3,5-7; pool 0,4'}
  ${'the end of an unknown container changes nothing'}                  | ${'know p/a 2; end p/a'}                              | ${'not known'} | ${'pool 0-7'}
`('$name', ({ history, phase, state }: { history: string; phase: string; state: string }) => {
  const node = new NodeDriver().run(history);
  expect({ phase: phaseOf(node, 'p/a'), state: node.state }).toEqual({ phase, state });
});

test('given an unknown container at its start, then it is moved to its CPUs before its process runs', () => {
  const node = new NodeDriver().run('make q/s 0; know p/a 2; starting p/a');
  expect(node.movesMade).toBe('q/s#1 0-7>0,2-4,6-7; p/a#1 ?>1,5');
});

test.each`
  name                    | kind
  ${'when made'}          | ${'container-created'}
  ${'when it starts'}     | ${'container-starting'}
  ${'when it is updated'} | ${'update-container'}
`(
  'given a container with an unlimited quota that is adopted $name, then it gets CPUs of its own: cpusetd lifted the quota',
  ({ kind }) => {
    const node = new NodeDriver().run('know p/a 2');
    const { pod, container } = node.infoOf('p/a');
    const lifted = { ...container, phase: 'created' as const, resources: { ...resourcesOf(2), quotaUs: -1 } };
    node.send({ kind, pod, container: lifted, resources: { memoryLimitBytes: 1 << 27 } });
    expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
  },
);

test('given an adopted container that does not fit, then its reason says why it shares', () => {
  const node = new NodeDriver().run('make q/x 6; know p/a 2; created p/a');
  expect(node.container('p/a')).toMatchObject({
    placement: 'shared',
    because: expect.stringMatching(/^shares, and waits for CPUs of its own: it asked/),
  });
});

describe('the shared pool', () => {
  test.each`
    name                                                                    | history                                                 | moves
    ${'a running shared container is moved before the answer'}              | ${'make q/s 0; ask p/a 2'}                              | ${'q/s#1 0-7>0,2-4,6-7'}
    ${'a container that has not started is not moved'}                      | ${'create q/s 0; ask p/a 2'}                            | ${''}
    ${'a container is moved when its cgroup exists'}                        | ${'create q/s 0; ask p/a 2; starting q/s'}              | ${'q/s#1 0-7>0,2-4,6-7'}
    ${'a change during the start of a container is applied before it runs'} | ${'create q/s 0; starting q/s; ask p/a 2'}              | ${'q/s#1 0-7>0,2-4,6-7'}
    ${'after the start of a container nothing is left to move'}             | ${'create q/s 0; starting q/s; ask p/a 2; started q/s'} | ${''}
    ${'idle CPUs of a pod are not in the pool'}                             | ${'make q/s 0; make p/a 2; end p/a'}                    | ${''}
    ${'the pool grows when the pod is gone'}                                | ${'make q/s 0; make p/a 2; end p/a; stop p'}            | ${'q/s#1 0,2-4,6-7>0-7'}
    ${'the pool grows again when a creation fails'}                         | ${'make q/s 0; ask p/a 2; end p/a'}                     | ${'q/s#1 0,2-4,6-7>0-7'}
  `('$name', ({ history, moves }: { history: string; moves: string }) => {
    expect(new NodeDriver().run(history).movesMade).toBe(moves);
  });
});

test.each`
  what                                | history                 | event
  ${'a container'}                    | ${'make p/a 2'}         | ${{ kind: 'container-stopped', containerId: 'p/a#1' }}
  ${'the pause container of its pod'} | ${'pod p; pause p 0-7'} | ${{ kind: 'pod-stopped', sandboxId: 'sandbox-p' }}
`('given the end of $what, then its verdict is outdated', ({ history, event }) => {
  const { model } = new NodeDriver().run(history as string);
  const [id] = model.allContainers.keys();
  const draft = new Draft(model, '2026-11-22T00:00:00Z');
  handle(draft, event as Parameters<typeof handle>[1]);
  expect(model.allContainers.has(id!)).toBe(false);
  expect(draft.outdated).toContain(id);
});

test.each`
  name                                                                                    | history                                                                                | state
  ${'the CPUs of a pod are released when its sandbox is stopped and empty'}               | ${'make p/a 2; end p/a; stop p'}                                                       | ${'pool 0-7'}
  ${'the CPUs of a stopped pod stay while a container runs'}                              | ${'make p/a 2; stop p'}                                                                | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'the last end after the stop releases all CPUs'}                                      | ${'make p/a 2; make p/b 2; stop p; end p/a; end p/b'}                                  | ${'pool 0-7'}
  ${'the first end after the stop releases nothing'}                                      | ${'make p/a 2; make p/b 2; stop p; end p/a'}                                           | ${'p/a 1,5 idle; p/b 2,6; pool 0,3-4,7'}
  ${'a removal without stop and end releases the CPUs'}                                   | ${'make p/a 2; make p/b 0; remove p'}                                                  | ${'pool 0-7'}
  ${'a second removal changes nothing'}                                                   | ${'make p/a 2; remove p; remove p'}                                                    | ${'pool 0-7'}
  ${'a stop of an unknown sandbox changes nothing'}                                       | ${'make p/a 2; stop q; remove q'}                                                      | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a new sandbox of the same pod keeps the CPUs'}                                       | ${'make p/a 2; end p/a; pod p s2; stop p sandbox-p; remove p sandbox-p'}               | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'the containers of the new sandbox get the CPUs back'}                                | ${'make p/a 2; end p/a; pod p s2; stop p sandbox-p; make p/a 2'}                       | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'the stop of the old sandbox after the new container runs releases nothing'}          | ${'make p/a 2; end p/a; pod p s2; make p/a 2; stop p sandbox-p; remove p sandbox-p'}   | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'the stop of both sandboxes releases the CPUs'}                                       | ${'make p/a 2; end p/a; pod p s2; make p/a 2; remove p sandbox-p; end p/a; stop p s2'} | ${'pool 0-7'}
  ${'the stop of the new sandbox while a container of the old one runs releases nothing'} | ${'make p/a 2; pod p s2; stop p s2; stop p sandbox-p'}                                 | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a creation in a stopped pod ends the stop'}                                          | ${'make p/a 2; end p/a; make p/b 0; stop p; make p/a 2; end p/b; end p/a'}             | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
`('$name', ({ history, state }: { history: string; state: string }) => {
  expect(new NodeDriver().run(history).state).toBe(state);
});

test('given a removed pod, then neither pod nor container is in the model', () => {
  const { model } = new NodeDriver().run('make p/a 2; make p/b 0; create p/c 1; remove p');
  expect([model.pods.size, model.containers.size, model.assignments.size]).toEqual([0, 0, 0]);
});
