import { compareListing, planChanges } from '../../../src/core/transition';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { captureBaseline } from '../../../src/core/transition/compare-listing';
import { specOf } from '../../support/spec-of';
import { NodeDriver } from './node-driver';

/** Eight CPUs, one of them reserved. The runtime lists no container, and the API server has these pods. */
function nodeWith(...specs: readonly PodSpec[]): NodeDriver {
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  if (specs.length > 0) node.send({ kind: 'pod-specs', specs });
  return node;
}

/** The runtime lists these sandboxes, none of them with a container. */
function list(node: NodeDriver, pods: readonly { sandboxId: string; uid: string; ready: boolean }[]): void {
  node.change((draft) => {
    compareListing(draft, { pods, containers: [] }, captureBaseline(node.model));
    return planChanges(draft);
  });
}

const KEPT = 'p/a 1,5 idle; pool 0,2-4,6-7';

/** The events and lists that show the end of a sandbox. */
const ENDS: readonly (readonly [string, (node: NodeDriver) => void])[] = [
  ['the sandbox is stopped', (node) => node.run('stop p')],
  ['the sandbox is stopped and removed', (node) => node.run('stop p; remove p')],
  ['the sandbox is removed', (node) => node.run('remove p')],
  ['the list has the sandbox as not ready', (node) => list(node, [{ sandboxId: 'sandbox-p', uid: 'p', ready: false }])],
  ['the list does not have the sandbox', (node) => list(node, [])],
  [
    'a synchronization does not have the sandbox',
    (node) => void node.send({ kind: 'synchronize', pods: [], containers: [] }),
  ],
];

describe('given the end of a sandbox', () => {
  test.each(ENDS)(
    '%s: the CPUs stay while the API server has the pod, and its new containers get them',
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
    '%s: the CPUs are released at once when the API server has the pod as finished, or does not have it',
    (_name, end) => {
      for (const specs of [[specOf('p', 'a 2', { finished: true })], [specOf('other', 'a 0')], []]) {
        const node = nodeWith(...specs).run('make p/a 2; end p/a');
        end(node);
        expect(node.state).toBe('pool 0-7');
      }
    },
  );

  test('given a pod that the API server deletes, then its running container keeps its CPUs until it ends', () => {
    const node = nodeWith(specOf('p', 'a 2')).run('make p/a 2');
    node.send({ kind: 'pod-spec-gone', uid: 'p' });
    expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
    expect(node.run('end p/a; stop p').state).toBe('pool 0-7');
  });

  test('given a planned pod without a sandbox, when the API server deletes it, then its CPUs are released', () => {
    const node = nodeWith(specOf('p', 'a 2'));
    expect(node.state).toBe(KEPT);
    node.send({ kind: 'pod-spec-gone', uid: 'p' });
    expect(node.state).toBe('pool 0-7');
  });
});

describe('given a static pod, which the API server has as a mirror', () => {
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

  test('when another mirror replaces the first, then the CPUs stay', () => {
    const node = nodeWith(mirror('p')).run('make p/a 2; end p/a');
    node.send({ kind: 'pod-spec', spec: mirror('p', 'again') });
    node.send({ kind: 'pod-spec-gone', uid: 'mirror-p' });
    expect(node.run('stop p').state).toBe(KEPT);
  });

  test('when its file is changed, then the old pod gives its CPUs back after its end in the runtime', () => {
    const node = nodeWith(mirror('p')).run('make p/a 2; end p/a; stop p; remove p');
    expect(node.state).toBe(KEPT);
    node.send({ kind: 'pod-spec', spec: mirror('changed') });
    node.send({ kind: 'pod-spec-gone', uid: 'mirror-p' });
    expect(node.state).toBe('changed/a 2,6 idle; pool 0-1,3-5,7');
  });
});

describe('given a start of cpusetd before the first list of the API server', () => {
  /** A node that remembers CPUs of `p`; every sandbox is gone, as after a restart of the node. */
  function restart({ hasApiServer = true } = {}): NodeDriver {
    const before = new NodeDriver().run('make p/a 2');
    const node = new NodeDriver();
    for (const assignment of before.model.assignments.values())
      node.model.apply({ kind: 'put-assignment', assignment });
    if (hasApiServer)
      node.model.apply({ kind: 'set-spec-source', source: { hasReported: false, awaited: new Set(['p']) } });
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    return node;
  }

  test('when no API server is configured, then the CPUs of absent pods are released at once', () => {
    expect(restart({ hasApiServer: false }).state).toBe('pool 0-7');
  });

  test('then pods that had CPUs keep them, and a refusal says why', () => {
    const node = restart();
    expect(node.run('make q/x 6').state).toBe(KEPT);
    expect(node.answer).toMatchObject({
      kind: 'refuse',
      message: expect.stringMatching(
        /; 2 CPUs are kept for pods from before the start of cpusetd until the API server \(--kubeconfig\) says/,
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
      node.send({ kind: 'pod-spec', spec: specOf('z', 'a 0') }); // one pod of a long list that comes in parts
      expect(node.state).toBe(KEPT);
      node.send({ kind: 'pod-specs', specs: [...specs, specOf('z', 'a 0')] });
      expect(node.state).toBe(state);
    }
  });

  test('when the list comes before the runtime has synchronized, then CPUs of missing pods are released at the synchronization', () => {
    const node = new NodeDriver();
    const [assignment] = new NodeDriver().run('make p/a 2').model.assignments.values();
    node.model.apply({ kind: 'put-assignment', assignment: assignment! });
    node.model.apply({ kind: 'set-spec-source', source: { hasReported: false, awaited: new Set(['p']) } });
    node.send({ kind: 'pod-specs', specs: [] });
    expect(node.model.assignments.size).toBe(1);
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    expect(node.model.assignments.size).toBe(0);
  });

  test('when new pods come meanwhile, then they are handled as without an API server', () => {
    expect(restart().run('make p/a 2; make q/x 1; end q/x; stop q').state).toBe('p/a 1,5; pool 0,2-4,6-7');
  });
});
