import type { PodSpec } from '../../../src/core/model/pod-spec';
import { POLICY_NAMES } from '../../../src/core/model/policies';
import { specOf } from '../../support/spec-of';
import { EIGHT_CPUS, machineOf, NodeDriver, resourcesOf } from './node-driver';

const EXCLUSIVE = { annotations: { 'cpusetd.io/policy': 'exclusive' } };

/** Eight CPUs, one of them reserved; pods may choose. */
function nodeWith(...specs: readonly PodSpec[]): NodeDriver {
  const node = new NodeDriver(EIGHT_CPUS, { podPolicies: POLICY_NAMES });
  for (const spec of specs) {
    node.podFields.set(spec.uid, {
      annotations: spec.annotations,
      cgroupParent: spec.qos === 'Guaranteed' ? `/kubepods/pod${spec.uid}` : `/kubepods/burstable/pod${spec.uid}`,
    });
    node.send({ kind: 'pod-spec', spec });
  }
  return node;
}

const POD_OF_FOUR = { podResources: { requestMilliCpu: 4000, limitMilliCpu: 4000 } };

describe('given the spec of a pod, then it decides', () => {
  test('given a count that CPU shares can not express, then the spec decides', () => {
    const node = new NodeDriver(machineOf(400, 1));
    node.send({ kind: 'pod-spec', spec: specOf('p', 'a 300') });
    const { pod, container } = node.run('know p/a 300').infoOf('p/a');
    const resources = { shares: 262_144, memoryLimitBytes: 1 << 26 }; // a kubelet with cpuCFSQuota: false
    node.send({ kind: 'create-container', pod, container: { ...container, resources } });
    expect(node.model.assignments.get('p/a')?.cpus.size).toBe(300);
  });

  test.each`
    name                                              | spec                                                                   | history                         | state
    ${'an init container is not entitled under policies of Crane'}    | ${specOf('p', 'i init 2, a 2', EXCLUSIVE)}                             | ${'make p/i 2; end p/i; make p/a 2'} | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'a sidecar is not entitled under policies of Crane'}                            | ${specOf('p', 's sidecar 2, a 2', EXCLUSIVE)}                          | ${'make p/s 2; make p/a 2'}     | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'all containers are entitled under static'}                    | ${specOf('p', 's sidecar 2, a 2')}                                     | ${'make p/s 2; make p/a 2'}     | ${'p/a 2,6; p/s 1,5; pool 0,3-4,7'}
    ${'in a pod with resources as a whole, a container with request and limit of its own has CPUs'} | ${specOf('p', 'a 2', POD_OF_FOUR)} | ${'make p/a 2'} | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'one without any shares, although its message has the numbers of the pod'} | ${specOf('p', 'a 2, b 0', POD_OF_FOUR)} | ${'make p/b 4; make p/a 2'} | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'a message with other numbers decides itself'} | ${specOf('p', 'a 4')}                                                  | ${'make p/a 2'}                 | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'an init container with other numbers is still not entitled under policies of Crane'}              | ${specOf('p', 'a init 4', EXCLUSIVE)}                                  | ${'make p/a 2'}                 | ${'pool 0-7'}
    ${'an ephemeral container, which is not in the spec, shares'}    | ${specOf('p', 'a 2')}                                                  | ${'make p/debug 0'}             | ${'pool 0-7'}
  `('$name', ({ spec, history, state }: { spec: PodSpec; history: string; state: string }) => {
    expect(nodeWith(spec).run(history).state).toBe(state);
  }); // prettier-ignore

  test('given a kubelet that sets no quotas, then only the spec says which containers are entitled under policies of Crane', () => {
    const node = nodeWith(specOf('p', 'a 2', { ...EXCLUSIVE, qos: 'Burstable' }));
    const { pod, container } = node.run('know p/a 2').infoOf('p/a');
    node.send({ kind: 'create-container', pod, container: { ...container, resources: { shares: 2048 } } });
    expect(node.reply).toBe('cpus 1,5');
  });

  test('given a resize in the spec, then it is decided on when the kubelet carries it out', () => {
    const node = nodeWith(specOf('p', 'a 2')).run('make p/a 2');
    node.send({ kind: 'pod-spec', spec: specOf('p', 'a 4') });
    expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
    expect(node.run('resize p/a 4').state).toBe('p/a 1-2,5-6; pool 0,3-4,7');
  });

  test('given a spec that comes after the container, then the container gets the CPUs that its message did not show', () => {
    const node = new NodeDriver();
    const { pod, container } = node.run('know p/a 2').infoOf('p/a');
    const resources = { shares: 2048, quotaUs: 200_000, periodUs: 100_000 }; // no memory limit: not surely Guaranteed
    node.send({ kind: 'create-container', pod, container: { ...container, resources } });
    node.run('start p/a');
    expect(node.reply).toBe('ok');
    expect(node.state).toBe('pool 0-7');
    node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2') });
    expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
    expect(node.movesMade).toBe('p/a#1 0-7>1,5');
  });

  test('given the same spec again, then nothing changes and nothing is saved', () => {
    const spec = specOf('p', 'a 2', EXCLUSIVE);
    const node = nodeWith(spec).run('make p/a 2');
    node.send({ kind: 'pod-spec', spec: { ...spec } });
    node.send({ kind: 'pod-specs', specs: [{ ...spec }] });
    expect([node.isDurable, node.movesMade, node.reported]).toEqual([false, '', []]);
  });
});

describe('given the mirror of a static pod', () => {
  const mirror = (more: Partial<PodSpec> = {}): PodSpec =>
    specOf('uid-at-the-api-server', 'a 2/-', {
      name: 'p',
      qos: 'Burstable',
      annotations: { 'kubernetes.io/config.mirror': 'p', 'kubernetes.io/config.hash': 'p' },
      ...more,
    });

  test.each`
    name                                              | specs                                            | state
    ${'is the spec of the pod that the runtime has'}      | ${[mirror()]}                                    | ${'pool 0-7'}
    ${'is not a spec from another namespace'}                   | ${[mirror({ namespace: 'elsewhere' })]}          | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'is not a spec under another name'}                       | ${[mirror({ name: 'forged' })]}                  | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'does not replace the spec of the pod itself'}                    | ${[mirror(), specOf('p', 'a 2')]}                | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'is not a spec without the mirror annotation'}                        | ${[mirror({ annotations: { 'kubernetes.io/config.hash': 'p' } })]} | ${'p/a 1,5; pool 0,2-4,6-7'}
  `('$name', ({ specs, state }: { specs: PodSpec[]; state: string }) => {
    const node = new NodeDriver();
    node.send({ kind: 'pod-specs', specs });
    expect(node.run('make p/a 2').state).toBe(state);
  }); // prettier-ignore
});

describe('given idle CPUs in a pod, then they', () => {
  const history = 'make p/i 4; end p/i; make p/a 2';
  test.each`
    name                                                       | before                         | history                                              | after                          | state
    ${'stay without a spec'}                                   | ${undefined}                   | ${history}                                           | ${undefined}                   | ${'p/a 1,5; p/i 2,6 idle; pool 0,3-4,7'}
    ${'are released when the app container has its CPUs'}      | ${'i init 4, a 2'}             | ${history}                                           | ${undefined}                   | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'stay while the init container may run again'}           | ${'i init 4, a 2'}             | ${'make p/i 4; end p/i'}                             | ${undefined}                   | ${'p/i 1-2,5-6 idle; pool 0,3-4,7'}
    ${'stay for the app container that is to come'}             | ${'i init 4, a 2'}             | ${'make p/i 4; end p/i'}                             | ${'i init 4!, a 2'}            | ${'p/i 1-2,5-6 idle; pool 0,3-4,7'}
    ${'are released at once when no app container is entitled'}    | ${'i init 4, a 0.5'}           | ${'make p/i 4; end p/i'}                             | ${'i init 4!, a 0.5'}          | ${'pool 0-7'}
    ${'stay for the second app container'}                     | ${'i init 4, a 2, b 1'}        | ${history}                                           | ${undefined}                   | ${'p/a 1,5; p/i 2,6 idle; pool 0,3-4,7'}
    ${'are released but for the one that the second app container takes'}         | ${'i init 4, a 2, b 1'}        | ${`${history}; make p/b 1`}                          | ${undefined}                   | ${'p/a 1,5; p/b 2; pool 0,3-4,6-7'}
    ${'stay for another init container'}                       | ${'i init 4, j init 2, a 0.5'} | ${'make p/i 4; end p/i'}                             | ${'i init 4!, j init 2, a 0.5'} | ${'p/i 1-2,5-6 idle; pool 0,3-4,7'}
    ${'stay for an app container that starts again'}           | ${'a 2'}                       | ${'make p/a 2; end p/a'}                             | ${undefined}                   | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'are released when the app container does not start again (restart policy)'}             | ${'a 2, b 0.5'}                | ${'make p/b 0.5; make p/a 2; end p/a'}               | ${'a 2!, b 0.5'}               | ${'pool 0-7'}
    ${'are released when a container that has not started has its own'}   | ${'a 2, b 1'}                  | ${'make p/a 2; end p/a'}                             | ${'a 2!, b 1'}                 | ${'p/b 4 idle; pool 0-3,5-7'}
    ${'are released when the pod has finished'}                     | ${'a 2, b 1'}                  | ${'make p/a 2; make p/b 1; end p/a; end p/b'}        | ${'finished'}                  | ${'pool 0-7'}
    ${'stay without a sandbox: it is made again'}                   | ${'a 2'}                       | ${'make p/a 2; end p/a; stop p'}                     | ${undefined}                   | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'are released while a sidecar runs'}                | ${'s sidecar 1, i init 2, a 1'} | ${'make p/s 1; make p/i 2; end p/i; make p/a 1'}    | ${undefined}                   | ${'p/a 1; p/s 4; pool 0,2-3,5-7'}
  `('$name', ({ before, history, after, state }: Record<'before' | 'history' | 'after' | 'state', string | undefined>) => {
    const node = before === undefined ? new NodeDriver() : nodeWith(specOf('p', before));
    node.run(history!);
    if (after === 'finished') node.send({ kind: 'pod-spec', spec: specOf('p', before!, { finished: true }) });
    else if (after !== undefined) node.send({ kind: 'pod-spec', spec: specOf('p', after) });
    expect(node.state).toBe(state);
  }); // prettier-ignore

  describe('and a pod that somebody deletes', () => {
    const spec = specOf('p', 'a 2');
    const deleted: PodSpec = { ...spec, isBeingDeleted: true };
    const began = (history: string): NodeDriver => {
      const node = new NodeDriver();
      node.send({ kind: 'synchronize', pods: [], containers: [] });
      node.send({ kind: 'pod-spec', spec });
      return node.run(history);
    };

    test.each`
      history                             | before                               | after
      ${''}                               | ${'p/a 1,5 idle; pool 0,2-4,6-7'}    | ${'pool 0-7'}
      ${'make p/a 2'}                     | ${'p/a 1,5; pool 0,2-4,6-7'}         | ${'p/a 1,5; pool 0,2-4,6-7'}
      ${'make p/a 2; end p/a'}            | ${'p/a 1,5 idle; pool 0,2-4,6-7'}    | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
      ${'make p/a 2; end p/a; stop p'}    | ${'p/a 1,5 idle; pool 0,2-4,6-7'}    | ${'pool 0-7'}
    `('they are released when the runtime has nothing of it: $history', ({ history, before, after }: Record<'history' | 'before' | 'after', string>) => {
      const node = began(history);
      expect(node.state).toBe(before);
      node.send({ kind: 'pod-spec', spec: deleted });
      expect(node.state).toBe(after);
      // No CPUs are planned for it again.
      node.send({ kind: 'pod-specs', specs: [{ ...deleted }] });
      node.run('make q/s 0');
      expect(node.state).toBe(after);
    }); // prettier-ignore

    test('they are released when its sandbox stops, before the API server tells of the end, and are not planned again', () => {
      const node = began('make p/a 2');
      node.send({ kind: 'pod-spec', spec: deleted });
      expect(node.run('end p/a; stop p').state).toBe('pool 0-7');
      node.send({ kind: 'pod-spec', spec: { ...deleted } });
      expect(node.state).toBe('pool 0-7');
    });
  });

  test('when they are released, then this is reported, and a waiting container gets them', () => {
    const node = nodeWith(specOf('p', 'i init 6, a 0.5')).run('make p/i 6; end p/i; know q/a 2');
    const { pod, container } = node.infoOf('q/a');
    const running = { ...container, phase: 'running' as const, resources: resourcesOf(2) };
    node.send({ kind: 'synchronize', pods: [node.infoOf('p/i').pod, pod], containers: [running] });
    expect(node.state).toBe('p/i 1-3,5-7 idle; pool 0,4');
    node.send({ kind: 'pod-spec', spec: specOf('p', 'i init 6!, a 0.5') });
    expect(node.state).toBe('q/a 1,5; pool 0,2-4,6-7');
    expect(node.reported.map((event) => ('because' in event ? `${event.kind}: ${event.because}` : ''))).toContain(
      'released: the container has ended, and no other one of its pod can need its CPUs any more',
    );
  });

  test('given a new sandbox, then its init containers run again, whatever the API server still says', () => {
    const node = nodeWith(specOf('p', 'i init 4!, a 2')).run('make p/i 4');
    expect(node.state).toBe('p/i 1-2,5-6; pool 0,3-4,7');
    expect(node.run('end p/i').state).toBe('p/i 1-2,5-6 idle; pool 0,3-4,7');
    expect(node.run('make p/a 2').state).toBe('p/a 1,5; pool 0,2-4,6-7');
  });
});
