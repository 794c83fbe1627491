import { specOf } from '../../support/spec-of';
import { machineOf, NodeDriver } from './node-driver';

/** Ten CPUs without siblings, one of them reserved; the API server has the pod `p`. */
function nodeWith(containers: string): NodeDriver {
  const node = new NodeDriver(machineOf(10, 1));
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  sendSpec(node, containers);
  return node;
}

function sendSpec(node: NodeDriver, containers: string): void {
  node.send({ kind: 'pod-spec', spec: specOf('p', containers) });
}

/** The number of CPUs of each assignment: `setup 4, a 2`. */
function heldBy({ model }: NodeDriver): string {
  return model
    .assignmentsOf('p')
    .map(({ containerName, cpus }) => `${containerName} ${cpus.size}`)
    .sort()
    .join(', ');
}

describe('given an init container that has ended', () => {
  // In the kubelet, CPUs that no app container reuses stay with the init container until the pod is gone.
  test.each`
    containers                                  | during                  | after                  | free
    ${'setup init 4, a 2'}                      | ${'setup 4'}            | ${'a 2'}               | ${7}
    ${'setup init 4, a 4'}                      | ${'setup 4'}            | ${'a 4'}               | ${5}
    ${'setup init 2, a 4'}                      | ${'a 2, setup 2'}       | ${'a 4'}               | ${5}
    ${'setup init 4, a 2, b 2'}                 | ${'setup 4'}            | ${'a 2, b 2'}          | ${5}
    ${'one init 2, setup init 4, a 2, b 2'}     | ${'one 2, setup 2'}     | ${'a 2, b 2'}          | ${5}
    ${'proxy sidecar 1, setup init 4, a 2'}     | ${'proxy 1, setup 4'}   | ${'a 2, proxy 1'}      | ${6}
  `(
    '$containers: app containers take its CPUs over, and CPUs that none of them can need are released',
    ({ containers, during, after, free }: Record<'containers' | 'during' | 'after', string> & { free: number }) => {
      const node = nodeWith(containers);
      expect(heldBy(node)).toBe(during);
      for (const text of containers.split(',')) {
        const [name, , count = text.trim().split(' ')[1]] = text.trim().split(' ');
        node.run(`make p/${name} ${count}`);
        expect(node.reply).not.toMatch(/refused/);
        if (text.includes(' init ')) node.run(`end p/${name}`);
      }
      expect({ held: heldBy(node), free: node.model.free.size }).toEqual({ held: after, free });
    },
  ); // prettier-ignore

  test('then its CPUs stay until the first app container is created, and while another one is to come', () => {
    const node = nodeWith('setup init 6, a 2, b 3').run('make p/setup 6; end p/setup');
    expect(node.run('make q/x 4').reply).toBe('refused RESOURCE_EXHAUSTED');
    node.run('make p/a 2');
    expect(node.run('make q/x 4').reply).toBe('refused RESOURCE_EXHAUSTED');
    expect(node.run('make p/b 3').reply).not.toMatch(/refused/);
    expect(node.run('make q/x 4').reply).not.toMatch(/refused/);
  });

  test('when it runs again in a new sandbox, then it gets CPUs of its pod first, then free ones', () => {
    const node = nodeWith('setup init 4, a 2').run('make p/setup 4; end p/setup; make p/a 2');
    const had = node.model.assignmentsOf('p')[0]!.cpus;
    node.run('end p/a; stop p; pod p s2; make p/setup 4');
    expect(node.reply).not.toMatch(/refused/);
    expect(had.isSubsetOf(node.container('p/setup')!.promise!.cpus)).toBe(true);
    expect(node.run('end p/setup; make p/a 2').model.free.size).toBe(7);
  });

  test('when it runs again on a full node, then it is refused, the pod keeps its CPUs, and a try after a release succeeds', () => {
    const node = nodeWith('setup init 4, a 2').run('make p/setup 4; end p/setup; make p/a 2; make q/x 7');
    node.run('end p/a; stop p; pod p s2');
    expect(node.run('make p/setup 4').reply).toBe('refused RESOURCE_EXHAUSTED');
    expect(heldBy(node)).toBe('a 2');
    expect(node.run('end q/x; stop q; make p/setup 4').reply).not.toMatch(/refused/);
  });
});

test('given an exited container whose CPUs another container of its pod took in part, then no CPUs are released', () => {
  const node = nodeWith('a 2, b 2, c 2').run('make p/a 2; make p/b 2; make p/c 2; make q/x 3');
  node.run('end p/a; end p/b; make p/b 3');
  expect(heldBy(node)).toBe('a 1, b 3, c 2');
  sendSpec(node, 'a 2, b 3, c 2!');
  node.run('end p/c');
  expect(node.run('ask r/y 1').reply).toBe('refused RESOURCE_EXHAUSTED');
  expect(node.run('make p/a 2').reply).not.toMatch(/refused/);
  expect(heldBy(node)).toBe('a 2, b 3');
});
