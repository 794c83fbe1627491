import { compareListing, planChanges } from '../../../src/core/transition';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { takeKnown } from '../../../src/core/transition/compare-listing';
import { specOf } from '../../support/spec-of';
import { NodeDriver } from './node-driver';

/** Eight CPUs, one of them reserved; the runtime has told that nothing runs, and the API server of these pods. */
function nodeWith(...specs: readonly PodSpec[]): NodeDriver {
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  if (specs.length > 0) node.send({ kind: 'pod-specs', specs });
  return node;
}

/** The runtime lists these sandboxes, none of them with a container. */
function list(node: NodeDriver, pods: readonly { sandboxId: string; uid: string; ready: boolean }[]): void {
  node.change((draft) => {
    compareListing(draft, { pods, containers: [] }, takeKnown(node.model));
    return planChanges(draft);
  });
}

const KEPT = 'p/a 1,5 idle; pool 0,2-4,6-7';

/** Everything by which the runtime tells that a sandbox has ended. */
const ENDS: readonly (readonly [string, (node: NodeDriver) => void])[] = [
  ['it is stopped', (node) => node.run('stop p')],
  ['it is stopped and removed', (node) => node.run('stop p; remove p')],
  ['it is removed', (node) => node.run('remove p')],
  ['it is not ready in the list', (node) => list(node, [{ sandboxId: 'sandbox-p', uid: 'p', ready: false }])],
  ['it is not in the list', (node) => list(node, [])],
  ['it is missing when all is told anew', (node) => void node.send({ kind: 'synchronize', pods: [], containers: [] })],
];

describe('the sandbox of a pod ends', () => {
  test.each(ENDS)(
    '%s: its CPUs stay while the API server has the pod, and its new containers get them',
    (_name, end) => {
      const node = nodeWith(specOf('p', 'a 2')).run('make p/a 2; end p/a');
      end(node);
      expect(node.state).toBe(KEPT);
      expect(node.run('make q/x 6').reply).toBe('refused RESOURCE_EXHAUSTED');
      expect(node.run('pod p s2; make p/a 2').state).toBe('p/a 1,5; pool 0,2-4,6-7');
    },
  );

  test.each(ENDS)('%s: they go back when the API server has it no more', (_name, end) => {
    const node = nodeWith(specOf('p', 'a 2')).run('make p/a 2; end p/a');
    end(node);
    node.send({ kind: 'pod-spec-gone', uid: 'p' });
    expect([node.state, node.isDurable]).toEqual(['pool 0-7', true]);
  });

  test.each(ENDS)('%s: they go back when its list leaves the pod out', (_name, end) => {
    const node = nodeWith(specOf('p', 'a 2')).run('make p/a 2; end p/a');
    end(node);
    node.send({ kind: 'pod-specs', specs: [] });
    expect(node.state).toBe('pool 0-7');
  });

  test.each(ENDS)('%s: they go back when the pod has finished', (_name, end) => {
    const node = nodeWith(specOf('p', 'a 2')).run('make p/a 2; end p/a');
    end(node);
    node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2', { finished: true }) });
    expect(node.state).toBe('pool 0-7');
  });

  test.each(ENDS)(
    '%s: they go back at once where the API server has finished with it, or never heard of it',
    (_name, end) => {
      for (const specs of [[specOf('p', 'a 2', { finished: true })], [specOf('other', 'a 0')], []]) {
        const node = nodeWith(...specs).run('make p/a 2; end p/a');
        end(node);
        expect(node.state).toBe('pool 0-7');
      }
    },
  );

  test('what still runs keeps its CPUs until it ends, and then they go back', () => {
    const node = nodeWith(specOf('p', 'a 2')).run('make p/a 2');
    node.send({ kind: 'pod-spec-gone', uid: 'p' });
    expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
    expect(node.run('end p/a; stop p').state).toBe('pool 0-7');
  });

  test('what was planned for a pod that never came to be goes back with it', () => {
    const node = nodeWith(specOf('p', 'a 2'));
    expect(node.state).toBe(KEPT);
    node.send({ kind: 'pod-spec-gone', uid: 'p' });
    expect(node.state).toBe('pool 0-7');
  });
});

describe('a static pod, which the API server knows by its mirror', () => {
  const mirror = (hash: string, uid = `mirror-${hash}`): PodSpec =>
    specOf(uid, 'a 2', {
      name: 'p',
      annotations: { 'kubernetes.io/config.mirror': hash, 'kubernetes.io/config.hash': hash },
    });

  test.each(ENDS)('%s: its CPUs stay', (_name, end) => {
    const node = nodeWith(mirror('p')).run('make p/a 2; end p/a');
    end(node);
    expect(node.state).toBe(KEPT);
  });

  test('another mirror takes the place of the first: they stay', () => {
    const node = nodeWith(mirror('p')).run('make p/a 2; end p/a');
    node.send({ kind: 'pod-spec', spec: mirror('p', 'again') });
    node.send({ kind: 'pod-spec-gone', uid: 'mirror-p' });
    expect(node.run('stop p').state).toBe(KEPT);
  });

  test('its file was changed: the old pod gives its CPUs back when the runtime has it no more', () => {
    const node = nodeWith(mirror('p')).run('make p/a 2; end p/a; stop p; remove p');
    expect(node.state).toBe(KEPT);
    node.send({ kind: 'pod-spec', spec: mirror('changed') });
    node.send({ kind: 'pod-spec-gone', uid: 'mirror-p' });
    expect(node.state).toBe('changed/a 2,6 idle; pool 0-1,3-5,7');
  });
});

describe('cpusetd starts, and the API server has not been heard yet', () => {
  /** It remembers CPUs of `p`; every sandbox is gone, as after a restart of the node. */
  function restart({ hasApiServer = true } = {}): NodeDriver {
    const before = new NodeDriver().run('make p/a 2');
    const node = new NodeDriver();
    for (const assignment of before.model.assignments.values())
      node.model.apply({ kind: 'put-assignment', assignment });
    if (hasApiServer) node.model.apply({ kind: 'set-spec-source', source: { told: false, awaited: new Set(['p']) } });
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    return node;
  }

  test('without one they go back at once', () => {
    expect(restart({ hasApiServer: false }).state).toBe('pool 0-7');
  });

  test('what had CPUs keeps them, and who is refused hears why', () => {
    const node = restart();
    expect(node.run('make q/x 6').state).toBe(KEPT);
    expect(node.answer).toMatchObject({
      kind: 'refuse',
      message: expect.stringMatching(
        /; 2 CPUs are kept for pods from before the start of cpusetd until the API server \(--kubeconfig\) tells/,
      ),
    });
    expect(node.run('ask p/a 2').reply).toBe('cpus 1,5');
    expect(node.run('make q/x 6').answer).toMatchObject({ message: expect.not.stringContaining('--kubeconfig') });
  });

  test.each(ENDS)('%s before its first list: they stay, and go by the list', (_name, end) => {
    for (const [specs, state] of [
      [[], 'pool 0-7'],
      [[specOf('p', 'a 2')], KEPT],
    ] as const) {
      const node = restart().run('make p/a 2; end p/a');
      end(node);
      expect(node.state).toBe(KEPT);
      node.send({ kind: 'pod-spec', spec: specOf('z', 'a 0') }); // one of a long list, told in parts
      expect(node.state).toBe(KEPT);
      node.send({ kind: 'pod-specs', specs: [...specs, specOf('z', 'a 0')] });
      expect(node.state).toBe(state);
    }
  });

  test('a list that comes before the runtime has spoken: what it leaves out goes back then', () => {
    const node = new NodeDriver();
    const [assignment] = new NodeDriver().run('make p/a 2').model.assignments.values();
    node.model.apply({ kind: 'put-assignment', assignment: assignment! });
    node.model.apply({ kind: 'set-spec-source', source: { told: false, awaited: new Set(['p']) } });
    node.send({ kind: 'pod-specs', specs: [] });
    expect(node.model.assignments.size).toBe(1);
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    expect(node.model.assignments.size).toBe(0);
  });

  test('pods that come meanwhile are as without an API server', () => {
    expect(restart().run('make p/a 2; make q/x 1; end q/x; stop q').state).toBe('p/a 1,5; pool 0,2-4,6-7');
  });
});
