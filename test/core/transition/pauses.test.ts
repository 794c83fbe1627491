import { judge } from '../../../src/core/verdict/judge';
import { cpus, NodeDriver, resourcesOf, without, EIGHT_CPUS, podOf } from './node-driver';

const pauseOf = (node: NodeDriver, sandboxId: string) => node.model.allContainers.get(sandboxId);
const strictNode = () => new NodeDriver(undefined, { options: { strictCpuReservation: true } });

/** The moves that the last of these events led to. */
function lastMovesOf(node: NodeDriver, history: string): string {
  const events = history.split(';');
  return node.run(events.slice(0, -1).join(';')).run(events.at(-1)!).movesMade;
}
const promised = (node: NodeDriver, sandboxId: string) => pauseOf(node, sandboxId)?.promise?.cpus.toString();

describe('a pause container', () => {
  test.each`
    name                                                      | history                                                           | moves
    ${'is on the reserved CPUs of the pool when it is found'} | ${'make p/a 2; pod q; pause q 0-7'}                               | ${'sandbox-q 0-7>0'}
    ${'also where the kernel has no cpuset of its own'}       | ${'make p/a 2; pod q; pause q'}                                   | ${'sandbox-q ?>0'}
    ${'also that of the pod that owns CPUs'}                  | ${'pod p; pause p 0-7; make p/a 2; pause p 0-7'}                  | ${'sandbox-p 0-7>0'}
    ${'is not moved when it is where it should be'}           | ${'make p/a 2; pod q; pause q 0'}                                 | ${''}
    ${'is not moved when CPUs are taken'}                     | ${'pod q; pause q 0-7; ask p/a 2'}                                | ${''}
    ${'is not moved when they come back'}                     | ${'pod q; pause q 0-7; make p/a 2; remove p'}                     | ${''}
    ${'of a sandbox that was made anew is moved like any'}    | ${'make p/a 2; pod q; pause q 0-7; remove q; pod q; pause q 0-7'} | ${'sandbox-q 0-7>0'}
    ${'that is found after the stop of its pod is too late'}  | ${'make p/a 2; pod q; stop q; pause q 0-7'}                       | ${''}
    ${'of a sandbox that nobody knows is none'}               | ${'make p/a 2; pause q 0-7'}                                      | ${''}
  `('$name', ({ history, moves }: { history: string; moves: string }) => {
    expect(lastMovesOf(new NodeDriver(), history)).toBe(moves);
  });

  test.each`
    name                                      | history                                       | moves
    ${'leaves the CPUs that others own'}      | ${'make p/a 2; pod q; pause q 0-7'}           | ${'sandbox-q 0-7>2-4,6-7'}
    ${'follows the pool when CPUs are taken'} | ${'pod q; pause q 0-7; ask p/a 2'}            | ${'sandbox-q 1-7>2-4,6-7'}
    ${'follows it when they come back'}       | ${'pod q; pause q 0-7; make p/a 2; remove p'} | ${'sandbox-q 2-4,6-7>1-7'}
    ${'of a stopped pod is not moved'}        | ${'pod q; pause q 0-7; stop q; make p/a 2'}   | ${''}
  `('$name, where no CPU of the pool is reserved', ({ history, moves }: { history: string; moves: string }) => {
    expect(lastMovesOf(strictNode(), history)).toBe(moves);
  });

  test('that leaves CPUs is moved before a container that gets them', () => {
    const node = strictNode().run('make p/a 2; pod q; pause q 2-4,6-7');
    expect(node.run('resize p/a 4').movesMade).toBe('sandbox-q 2-4,6-7>3-4,7; p/a#1 1,5>1-2,5-6');
  });

  test('is none of the containers of its pod, and keeps no CPUs from going back', () => {
    const node = new NodeDriver().run('make p/a 2; pause p 0-7; end p/a');
    expect([node.model.containers.size, node.model.containersOf('p').length]).toEqual([0, 0]);
    expect(node.run('stop p').state).toBe('pool 0-7');
    expect(node.model.allContainers.size).toBe(0);
  });

  test('is forgotten with the pod that the runtime no longer has', () => {
    const node = new NodeDriver().run('pod p; pause p 0-7; pod q; pause q 0-7');
    node.send({ kind: 'synchronize', pods: [podOf('q')], containers: [] });
    expect([...node.model.allContainers.keys()]).toEqual(['sandbox-q']);
  });

  test('writes nothing to disk', () => {
    const node = new NodeDriver().run('make p/a 2; pod q; pause q 0-7');
    expect(node.isDurable).toBe(false);
  });

  test('a change that is taken back leaves it as it was', () => {
    const node = strictNode().run('make p/a 4; pod q; pause q 0-7');
    expect(node.run('ask r/a 4').reply).toBe('refused RESOURCE_EXHAUSTED');
    expect(promised(node, 'sandbox-q')).toBe('3-4,7');
    expect([...node.model.containers.keys()]).toEqual(['p/a#1']);
  });

  test('a container that has the id of a sandbox stays a container', () => {
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

  test('follows CPUs that go offline', () => {
    const node = strictNode().run('make p/a 2; pod q; pause q 0-7');
    node.setTopology(without(EIGHT_CPUS, '3'));
    expect(node.movesMade).toBe('sandbox-q 2-4,6-7>2,4,6-7');
  });
});

describe('a pause container that must not be moved', () => {
  test('stays where it is, whoever owns CPUs, and its verdict says why', () => {
    const node = new NodeDriver().run('make p/a 2; pod q');
    node.findPause('sandbox-q', '0-7', { staysBecause: 'it is a virtual machine' });
    expect(node.movesMade).toBe('');
    expect(node.run('make r/a 1').movesMade).toBe('');
    expect(judge(node.model, pauseOf(node, 'sandbox-q')!, undefined)).toEqual({
      kind: 'kept',
      because: 'left alone: it is a virtual machine',
    });
  });

  test('is moved when it turns out to be a pause container', () => {
    const node = new NodeDriver().run('make p/a 2; pod q');
    node.findPause('sandbox-q', '0-7', { staysBecause: 'it has not begun' });
    expect(node.run('pause q 0-7').movesMade).toBe('sandbox-q 0-7>0');
  });
});

describe('CPUs of the runtime configuration', () => {
  test.each`
    name                                             | configured | options                           | promise
    ${'are kept where nobody owns them'}             | ${'2-3'}   | ${{}}                             | ${'2-3'}
    ${'are kept also where they are reserved'}       | ${'0'}     | ${{ strictCpuReservation: true }} | ${'0'}
    ${'are kept without those that others own'}      | ${'0-2'}   | ${{}}                             | ${'0,2'}
    ${'are kept as far as they are online'}          | ${'2,99'}  | ${{}}                             | ${'2'}
    ${'that others own all: as if there were none'}  | ${'1,5'}   | ${{}}                             | ${'0'}
    ${'that nobody can read: as if there were none'} | ${'x'}     | ${{}}                             | ${'0'}
  `('$name', ({ configured, options, promise }: { configured: string; options: object; promise: string }) => {
    const node = new NodeDriver(undefined, { options }).run('make p/a 2; pod q');
    node.findPause('sandbox-q', '0-7', { cpus: configured });
    expect(promised(node, 'sandbox-q')).toBe(promise);
  });

  test('the verdict tells of them', () => {
    const node = new NodeDriver().run('make p/a 2; pod q');
    node.findPause('sandbox-q', '2-3', { cpus: '2-3' });
    const seen = { kind: 'seen', cpus: cpus('2-3'), effective: cpus('2-3'), mems: cpus('') } as const;
    expect(judge(node.model, pauseOf(node, 'sandbox-q')!, seen)).toEqual({
      kind: 'kept',
      because: "the runtime's configuration gives pause containers CPUs 2-3",
    });
  });
});

test('under the none policy a pause container is left alone as long as nobody owns CPUs', () => {
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
`('a pause container that is promised 0 and has $seen: $kind', ({ seen, kind }: Record<string, string>) => {
  const node = new NodeDriver().run('make p/a 2; pod q; pause q 0-7');
  const observation = { kind: 'seen', cpus: cpus(seen!), effective: cpus(seen!), mems: cpus('') } as const;
  expect(judge(node.model, pauseOf(node, 'sandbox-q')!, observation).kind).toBe(kind);
});
