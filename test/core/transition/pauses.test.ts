import { judge } from '../../../src/core/verdict/judge';
import { cpus, NodeDriver, resourcesOf, without, EIGHT_CPUS, podOf } from './node-driver';

const pauseOf = (node: NodeDriver, sandboxId: string) => node.model.allContainers.get(sandboxId);
const strictNode = () => new NodeDriver(undefined, { options: { strictCpuReservation: true } });

/** The moves of the last event. */
function lastMovesOf(node: NodeDriver, history: string): string {
  const events = history.split(';');
  return node.run(events.slice(0, -1).join(';')).run(events.at(-1)!).movesMade;
}
const promised = (node: NodeDriver, sandboxId: string) => pauseOf(node, sandboxId)?.promise?.cpus.toString();

describe('given a pause container', () => {
  test.each`
    name                                                            | history                                                           | moves
    ${'is moved to the reserved CPUs of the pool when it is found'} | ${'make p/a 2; pod q; pause q 0-7'}                               | ${'sandbox-q 0-7>0'}
    ${'is moved there without a cpuset of its own in the kernel'}   | ${'make p/a 2; pod q; pause q'}                                   | ${'sandbox-q ?>0'}
    ${'is moved there in a pod that owns CPUs'}                     | ${'pod p; pause p 0-7; make p/a 2; pause p 0-7'}                  | ${'sandbox-p 0-7>0'}
    ${'is not moved when it is where it should be'}                 | ${'make p/a 2; pod q; pause q 0'}                                 | ${''}
    ${'is not moved when CPUs are taken'}                           | ${'pod q; pause q 0-7; ask p/a 2'}                                | ${''}
    ${'is not moved when they come back'}                           | ${'pod q; pause q 0-7; make p/a 2; remove p'}                     | ${''}
    ${'of a new sandbox of the pod is moved'}                       | ${'make p/a 2; pod q; pause q 0-7; remove q; pod q; pause q 0-7'} | ${'sandbox-q 0-7>0'}
    ${'that is found after the stop of its pod is ignored'}         | ${'make p/a 2; pod q; stop q; pause q 0-7'}                       | ${''}
    ${'of an unknown sandbox is ignored'}                           | ${'make p/a 2; pause q 0-7'}                                      | ${''}
  `('$name', ({ history, moves }: { history: string; moves: string }) => {
    expect(lastMovesOf(new NodeDriver(), history)).toBe(moves);
  });

  test.each`
    name                                      | history                                       | moves
    ${'is moved off CPUs that others own'}    | ${'make p/a 2; pod q; pause q 0-7'}           | ${'sandbox-q 0-7>2-4,6-7'}
    ${'follows the pool when CPUs are taken'} | ${'pod q; pause q 0-7; ask p/a 2'}            | ${'sandbox-q 1-7>2-4,6-7'}
    ${'follows it when they come back'}       | ${'pod q; pause q 0-7; make p/a 2; remove p'} | ${'sandbox-q 2-4,6-7>1-7'}
    ${'of a stopped pod is not moved'}        | ${'pod q; pause q 0-7; stop q; make p/a 2'}   | ${''}
  `('$name, with no reserved CPU in the pool', ({ history, moves }: { history: string; moves: string }) => {
    expect(lastMovesOf(strictNode(), history)).toBe(moves);
  });

  test('when it runs on CPUs of a new container, then it is moved before the container gets them', () => {
    const node = strictNode().run('make p/a 2; pod q; pause q 2-4,6-7');
    expect(node.run('resize p/a 4').movesMade).toBe('sandbox-q 2-4,6-7>3-4,7; p/a#1 1,5>1-2,5-6');
  });

  test('then it is not a container of its pod, and the CPUs of the pod are released', () => {
    const node = new NodeDriver().run('make p/a 2; pause p 0-7; end p/a');
    expect([node.model.containers.size, node.model.containersOf('p').length]).toEqual([0, 0]);
    expect(node.run('stop p').state).toBe('pool 0-7');
    expect(node.model.allContainers.size).toBe(0);
  });

  test('when the runtime no longer has its pod, then it is dropped', () => {
    const node = new NodeDriver().run('pod p; pause p 0-7; pod q; pause q 0-7');
    node.send({ kind: 'synchronize', pods: [podOf('q')], containers: [] });
    expect([...node.model.allContainers.keys()]).toEqual(['sandbox-q']);
  });

  test('then nothing is saved', () => {
    const node = new NodeDriver().run('make p/a 2; pod q; pause q 0-7');
    expect(node.isDurable).toBe(false);
  });

  test('when a change is rolled back, then it stays as it was', () => {
    const node = strictNode().run('make p/a 4; pod q; pause q 0-7');
    expect(node.run('ask r/a 4').reply).toBe('refused RESOURCE_EXHAUSTED');
    expect(promised(node, 'sandbox-q')).toBe('3-4,7');
    expect([...node.model.containers.keys()]).toEqual(['p/a#1']);
  });

  test('when a container has the id of a sandbox, then it stays a container', () => {
    const node = new NodeDriver().run('pod p; pause p 0-7');
    const container = {
      id: 'sandbox-p',
      sandboxId: 'sandbox-p',
      name: 'x',
      phase: 'created',
      cgroupsPath: '',
    } as const;
    const asked = { pod: podOf('p'), container: { ...container, resources: resourcesOf(1) } };
    node.send({ kind: 'create-container', ...asked });
    node.run('pause p 0-7');
    expect(node.model.containers.get('sandbox-p')).toBe(node.model.allContainers.get('sandbox-p'));
    expect(node.model.allContainers.get('sandbox-p')?.name).toBe('x');
    node.send({ kind: 'container-stopped', containerId: 'sandbox-p' });
    expect([node.model.containers.size, node.model.allContainers.size]).toEqual([0, 0]);
  });

  test('when CPUs go offline, then it follows', () => {
    const node = strictNode().run('make p/a 2; pod q; pause q 0-7');
    node.setTopology(without(EIGHT_CPUS, '3'));
    expect(node.movesMade).toBe('sandbox-q 2-4,6-7>2,4,6-7');
  });
});

describe('given a pause container that must not be moved', () => {
  test('then it stays where it is, and its verdict says why', () => {
    const node = new NodeDriver().run('make p/a 2; pod q');
    node.findPause('sandbox-q', '0-7', { staysBecause: 'it is a virtual machine' });
    expect(node.movesMade).toBe('');
    expect(node.run('make r/a 1').movesMade).toBe('');
    expect(judge(node.model, pauseOf(node, 'sandbox-q')!, undefined)).toEqual({
      kind: 'left-alone',
      because: 'it is a virtual machine',
    });
  });

  test('when it can be moved later, then it is moved', () => {
    const node = new NodeDriver().run('make p/a 2; pod q');
    node.findPause('sandbox-q', '0-7', { staysBecause: 'it has not begun' });
    expect(node.run('pause q 0-7').movesMade).toBe('sandbox-q 0-7>0');
  });
});

describe('given CPUs of the runtime configuration', () => {
  test.each`
    name                                         | configured | options                           | promise
    ${'are kept while no container owns them'}   | ${'2-3'}   | ${{}}                             | ${'2-3'}
    ${'are kept when they are reserved'}         | ${'0'}     | ${{ strictCpuReservation: true }} | ${'0'}
    ${'are kept without those that others own'}  | ${'0-2'}   | ${{}}                             | ${'0,2'}
    ${'are kept as far as they are online'}      | ${'2,99'}  | ${{}}                             | ${'2'}
    ${'are ignored when others own all of them'} | ${'1,5'}   | ${{}}                             | ${'0'}
    ${'are ignored when they can not be parsed'} | ${'x'}     | ${{}}                             | ${'0'}
  `('$name', ({ configured, options, promise }: { configured: string; options: object; promise: string }) => {
    const node = new NodeDriver(undefined, { options }).run('make p/a 2; pod q');
    node.findPause('sandbox-q', '0-7', { cpus: configured });
    expect(promised(node, 'sandbox-q')).toBe(promise);
  });

  test('then the verdict names them', () => {
    const node = new NodeDriver().run('make p/a 2; pod q');
    node.findPause('sandbox-q', '2-3', { cpus: '2-3' });
    const seen = { kind: 'seen', cpus: cpus('2-3'), effective: cpus('2-3'), mems: cpus('') } as const;
    expect(judge(node.model, pauseOf(node, 'sandbox-q')!, seen)).toEqual({
      kind: 'kept',
      because: "the runtime's configuration gives pause containers CPUs 2-3",
    });
  });
});

test('given policy none, then a pause container is left alone while no container owns CPUs', () => {
  const node = new NodeDriver(undefined, { cpuManagerPolicy: 'none' }).run('pod q; pause q 0-7');
  expect(node.movesMade).toBe('');
  expect(pauseOf(node, 'sandbox-q')).toMatchObject({ placement: 'left-alone' });
  node.setRules({});
  expect(node.run('make p/a 2').run('pod r').model.exclusive.toString()).toBe('1,5');
  expect(promised(node, 'sandbox-q')).toBe('0');
});

test.each`
  seen     | kind
  ${'0'}   | ${'kept'}
  ${'0-7'} | ${'drifted'}
`(
  'given a pause container with promise 0 and cpuset $seen, then its verdict is $kind',
  ({ seen, kind }: Record<string, string>) => {
    const node = new NodeDriver().run('make p/a 2; pod q; pause q 0-7');
    const observation = { kind: 'seen', cpus: cpus(seen!), effective: cpus(seen!), mems: cpus('') } as const;
    expect(judge(node.model, pauseOf(node, 'sandbox-q')!, observation).kind).toBe(kind);
  },
);
