import { Draft, handle } from '../../../src/core/transition';
import { NodeDriver, resourcesOf } from './node-driver';

const phaseOf = (node: NodeDriver, target: string) => node.container(target)?.phase ?? 'not known';

test('the phases of a life', () => {
  const node = new NodeDriver();
  const phases = 'pod p;ask p/a 2;created p/a;starting p/a;started p/a;end p/a;forget p/a'
    .split(';')
    .map((step) => phaseOf(node.run(step), 'p/a'));
  expect(phases).toEqual(['not known', 'creating', 'created', 'starting', 'running', 'not known', 'not known']);
});

test.each`
  name                                                         | history                                               | phase          | state
  ${'told to have started after its end: no resurrection'}     | ${'create p/a 2; starting p/a; end p/a; started p/a'} | ${'not known'} | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'unknown at PostStart: too late to place it'}              | ${'know p/a 2; started p/a'}                          | ${'not known'} | ${'pool 0-7'}
  ${'unknown when made: adopted'}                              | ${'know p/a 2; created p/a'}                          | ${'created'}   | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'unknown when it starts: adopted before its process runs'} | ${'know p/a 2; starting p/a'}                         | ${'starting'}  | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'unknown, and no room: it shares, for it exists'}          | ${'make q/x 6; know p/a 2; created p/a'}              | ${'created'}   | ${'q/x 1-3,5-7; pool 0,4'}
  ${'the end of one that nobody knows'}                        | ${'know p/a 2; end p/a'}                              | ${'not known'} | ${'pool 0-7'}
`('$name', ({ history, phase, state }: { history: string; phase: string; state: string }) => {
  const node = new NodeDriver().run(history);
  expect({ phase: phaseOf(node, 'p/a'), state: node.state }).toEqual({ phase, state });
});

test('one that is adopted at its start is moved to its CPUs before its process runs', () => {
  const node = new NodeDriver().run('make q/s 0; know p/a 2; starting p/a');
  expect(node.movesMade).toBe('q/s#1 0-7>0,2-4,6-7; p/a#1 ?>1,5');
});

test.each`
  name                          | kind
  ${'when made'}                | ${'container-created'}
  ${'when it starts'}           | ${'container-starting'}
  ${'when somebody changes it'} | ${'update-container'}
`('a quota in the record that was lifted is our own doing, no conflict: adopted $name', ({ kind }) => {
  const node = new NodeDriver().run('know p/a 2');
  const { pod, container } = node.infoOf('p/a');
  const lifted = { ...container, resources: { ...resourcesOf(2), quotaUs: -1 } };
  node.send({ kind, pod, container: lifted, resources: { memoryLimitBytes: 1 << 27 } });
  expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
});

test('an adopted one that can get nothing says why it shares', () => {
  const node = new NodeDriver().run('make q/x 6; know p/a 2; created p/a');
  expect(node.container('p/a')).toMatchObject({
    placement: 'shared',
    because: expect.stringMatching(/^shares, and waits for CPUs of its own: it asked/),
  });
});

describe('the pool while containers come and go', () => {
  test.each`
    name                                                         | history                                                 | moves
    ${'a running shared container leaves before the answer'}     | ${'make q/s 0; ask p/a 2'}                              | ${'q/s#1 0-7>0,2-4,6-7'}
    ${'one that is not started is not moved'}                    | ${'create q/s 0; ask p/a 2'}                            | ${''}
    ${'it is moved when its cgroup is there'}                    | ${'create q/s 0; ask p/a 2; starting q/s'}              | ${'q/s#1 0-7>0,2-4,6-7'}
    ${'what changed while it started is applied before it runs'} | ${'create q/s 0; starting q/s; ask p/a 2'}              | ${'q/s#1 0-7>0,2-4,6-7'}
    ${'and after it nothing is left to do'}                      | ${'create q/s 0; starting q/s; ask p/a 2; started q/s'} | ${''}
    ${'CPUs that are idle with a pod are not in the pool'}       | ${'make q/s 0; make p/a 2; end p/a'}                    | ${''}
    ${'it grows when the pod is gone'}                           | ${'make q/s 0; make p/a 2; end p/a; stop p'}            | ${'q/s#1 0,2-4,6-7>0-7'}
    ${'it grows again when a creation fails'}                    | ${'make q/s 0; ask p/a 2; end p/a'}                     | ${'q/s#1 0,2-4,6-7>0-7'}
  `('$name', ({ history, moves }: { history: string; moves: string }) => {
    expect(new NodeDriver().run(history).movesMade).toBe(moves);
  });
});

test.each`
  what                                | history                 | event
  ${'a container'}                    | ${'make p/a 2'}         | ${{ kind: 'container-stopped', containerId: 'p/a#1' }}
  ${'the pause container of its pod'} | ${'pod p; pause p 0-7'} | ${{ kind: 'pod-stopped', sandboxId: 'sandbox-p' }}
`('the end of $what is told to those who watch its cgroup', ({ history, event }) => {
  const { model } = new NodeDriver().run(history as string);
  const [id] = model.allContainers.keys();
  const draft = new Draft(model, '2026-11-22T00:00:00Z');
  handle(draft, event as Parameters<typeof handle>[1]);
  expect(model.allContainers.has(id!)).toBe(false);
  expect(draft.outdated).toContain(id);
});
