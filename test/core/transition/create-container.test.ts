import { describeKeptCpus } from '../../../src/core/model/kept-cpus';
import { specOf } from '../../support/spec-of';
import { machineOf, NodeDriver, podOf, resourcesOf, without, type Rules } from './node-driver';

test.each`
  name                                                                                      | rules                                          | history                                         | reply                            | state
  ${'a request of whole CPUs in a Guaranteed pod gets exclusive CPUs'}                      | ${{}}                                          | ${'make p/a 2'}                                 | ${'ok'}                          | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a request of a fraction of a CPU shares'}                                              | ${{}}                                          | ${'ask p/a 1.5'}                                | ${'cpus 0-7'}                    | ${'pool 0-7'}
  ${'a container without a CPU request shares'}                                             | ${{}}                                          | ${'ask p/a 0'}                                  | ${'cpus 0-7'}                    | ${'pool 0-7'}
  ${'a shared container gets the pool of now'}                                              | ${{}}                                          | ${'make p/a 4; ask q/b 0'}                      | ${'cpus 0,3-4,7'}                | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'strict-cpu-reservation keeps reserved CPUs out of the pool'}                           | ${{ options: { strictCpuReservation: true } }} | ${'ask p/a 0'}                                  | ${'cpus 1-7'}                    | ${'pool 1-7'}
  ${'a request of all CPUs but the reserved one gets them'}                                 | ${{}}                                          | ${'ask p/a 7'}                                  | ${'cpus 1-7'}                    | ${'p/a 1-7; pool 0'}
  ${'a request of one more is refused, and nothing changes'}                                | ${{}}                                          | ${'ask p/a 8'}                                  | ${'refused RESOURCE_EXHAUSTED'}  | ${'pool 0-7'}
  ${'CPUs of other containers are not given out'}                                           | ${{}}                                          | ${'make p/a 4; ask q/b 4'}                      | ${'refused RESOURCE_EXHAUSTED'}  | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'on-insufficient-cpu share: it shares instead'}                                         | ${{ onInsufficientCpu: 'share' }}              | ${'make p/a 4; ask q/b 4'}                      | ${'cpus 0,3-4,7'}                | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'on-insufficient-cpu share: a restart that does not fit gives back'}                    | ${{ onInsufficientCpu: 'share' }}              | ${'make p/a 4; end p/a; make q/b 3; ask p/a 5'} | ${'cpus 0-2,5-6'}                | ${'q/b 3-4,7; pool 0-2,5-6'}
  ${'policy none leaves all containers alone'}                                              | ${{ cpuManagerPolicy: 'none' }}                | ${'ask p/a 2'}                                  | ${'ok'}                          | ${'pool 0-7'}
  ${'full-pcpus-only refuses half a core'}                                                  | ${{ options: { fullPcpusOnly: true } }}        | ${'ask p/a 3'}                                  | ${'refused FAILED_PRECONDITION'} | ${'pool 0-7'}
  ${'full-pcpus-only counts whole cores only'}                                              | ${{ options: { fullPcpusOnly: true } }}        | ${'ask p/a 8'}                                  | ${'refused RESOURCE_EXHAUSTED'}  | ${'pool 0-7'}
  ${'strict-cpu-reservation leaves one CPU in the pool, since reserved CPUs are not in it'} | ${{ options: { strictCpuReservation: true } }} | ${'ask p/a 7'}                                  | ${'refused RESOURCE_EXHAUSTED'}  | ${'pool 1-7'}
  ${'the quota of an exclusive container is lifted'}                                        | ${{ liftCpuQuota: true }}                      | ${'ask p/a 2'}                                  | ${'cpus 1,5 quota -1'}           | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a shared container keeps its quota'}                                                   | ${{ liftCpuQuota: true }}                      | ${'ask p/a 1.5'}                                | ${'cpus 0-7'}                    | ${'pool 0-7'}
`('$name', ({ rules, history, reply, state }: { rules: Rules; history: string; reply: string; state: string }) => {
  const node = new NodeDriver(undefined, rules).run(history);
  expect({ reply: node.reply, state: node.state }).toEqual({ reply, state });
});

test('given a refusal, then neither pod nor container is in the model, nothing is to be saved, and the reason is reported', () => {
  const node = new NodeDriver().run('ask p/a 8');
  expect({ pods: node.model.pods.size, containers: node.model.containers.size, durable: node.isDurable }).toEqual({
    pods: 0,
    containers: 0,
    durable: false,
  });
  expect(node.reported).toEqual([]);
  expect(node.answer).toMatchObject({ message: expect.stringMatching(/asked for 8 .*7/) });
});

test('given a second creation under the id of the first, then its answer counts as applied, and nothing of the first stays', () => {
  const node = new NodeDriver().run('ask p/a 0');
  const { id } = node.container('p/a')!;
  expect(node.container('p/a')!.applied!.cpus.toString()).toBe('0-7');
  node.run('make q/b 4');
  const { pods } = node.model;
  const pod = [...pods.values()].find(({ uid }) => uid === 'p')!;
  const answer = node.send({ kind: 'create-container', pod, container: { id, sandboxId: pod.sandboxId, name: 'a', cgroupsPath: '', phase: 'created', resources: {} } }); // prettier-ignore
  const { applied, runtimeRecord } = node.model.containers.get(id)!;
  expect(answer).toMatchObject({ kind: 'ok', adjust: { cpus: applied!.cpus } });
  expect([applied, runtimeRecord].map((each) => each!.cpus.toString())).toEqual(['0,3-4,7', '0,3-4,7']);
});

test('given several events, then only those that change assignments have to be saved', () => {
  const node = new NodeDriver();
  const durable = 'pod p;ask p/a 2;created p/a;starting p/a;started p/a;ask p/s 0;end p/s;end p/a;stop p'
    .split(';')
    .map((step) => [step, node.run(step).isDurable]);
  expect(durable.filter(([, is]) => is).map(([step]) => step)).toEqual(['ask p/a 2', 'end p/a', 'stop p']);
});

test('given a quota that another program has lifted, then the creation is refused, whatever on-insufficient-cpu says', () => {
  const node = new NodeDriver(undefined, { onInsufficientCpu: 'share' });
  const resources = { ...resourcesOf(2), quotaUs: -1 };
  const container = { id: 'c', sandboxId: 's', name: 'c', phase: 'creating', cgroupsPath: '', resources } as const;
  expect(node.send({ kind: 'create-container', pod: podOf('p'), container })).toMatchObject({
    kind: 'refuse',
    code: 'FAILED_PRECONDITION',
  });
});

describe('given a creation that fails', () => {
  test.each`
    name                                                                    | history                                          | state
    ${'then new CPUs are given back'}                                       | ${'ask p/a 2; end p/a'}                          | ${'pool 0-7'}
    ${'then new CPUs are given back, even with a removal event alone'}      | ${'ask p/a 2; forget p/a'}                       | ${'pool 0-7'}
    ${'then new CPUs are given back once, after several events of its end'} | ${'ask p/a 2; end p/a; ask p/a 2; forget p/a#1'} | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'then CPUs that it had before stay idle'}                             | ${'make p/a 2; end p/a; ask p/a 2; end p/a'}     | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'then idle CPUs that it took over stay with the pod'}                 | ${'make p/i 2; end p/i; ask p/a 2; end p/a'}     | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'then after the runtime has created it, its CPUs stay with the pod'}  | ${'create p/a 2; end p/a'}                       | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  `('$name', ({ history, state }: { history: string; state: string }) => {
    expect(new NodeDriver().run(history).state).toBe(state);
  });
});

test('given own CPUs of which one is offline now, then the container gets others', () => {
  const machine = machineOf(8, 1);
  const node = new NodeDriver(machine).run('make p/a 2; end p/a');
  node.setTopology(without(machine, '2'));
  expect(node.run('make p/a 2').state).toBe('p/a 1,3; pool 0,4-7');
});

test('given own CPUs of which one is reserved now, then the container gets others', () => {
  const node = new NodeDriver().run('make p/a 2; end p/a');
  node.setRules({ reserved: '0-1' });
  expect(node.run('make p/a 2').state).toBe('p/a 4-5; pool 0-3,6-7');
});

describe('given policy none', () => {
  test('when exclusive CPUs from before are held, then containers share, and afterwards they are left alone', () => {
    const node = new NodeDriver().run('make p/a 2');
    node.setRules({ cpuManagerPolicy: 'none' });
    expect(node.run('ask q/b 2').reply).toBe('cpus 0,2-4,6-7');
    expect(node.run('end p/a; stop p; ask q/c 2').reply).toBe('ok');
    expect(node.container('q/c')?.placement).toBe('left-alone');
  });

  test('when a container is created again after the change of policy, then it has no CPUs of its own', () => {
    const node = new NodeDriver().run('make p/a 2');
    node.setRules({ cpuManagerPolicy: 'none' });
    expect(node.run('end p/a; ask p/a 2').state).toBe('pool 0-7');
  });
});

describe('given CPUs that are kept for pods whose containers are still to come', () => {
  const planned = (pods: number): NodeDriver => {
    const node = new NodeDriver();
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    for (let i = 0; i < pods; i++) node.send({ kind: 'pod-spec', spec: specOf(`p${i}`, 'a 1') });
    return node;
  };

  test.each`
    pods | kept
    ${1} | ${'; 1 CPU is kept for 1 pod that the scheduler has bound to this node and whose containers are still to be created'}
    ${5} | ${'; 5 CPUs are kept for 5 pods that the scheduler has bound to this node and whose containers are still to be created'}
  `('then a refusal counts the pods without their names: $pods', ({ pods, kept }) => {
    const node = planned(Number(pods)).run('ask q/x 7');
    expect(node.answer).toMatchObject({
      message: expect.stringMatching(new RegExp(`are? reserved${String(kept)}$|is reserved${String(kept)}$`)),
    });
    expect(JSON.stringify(node.answer)).not.toContain('p0');
  });

  test('then the refusal of a resize counts the pods', () => {
    const node = planned(5).run('make q/x 2');
    const container = node.model.containersOf('q')[0]!;
    node.send({ kind: 'update-container', pod: podOf('q'), container, resources: resourcesOf(4) });
    expect(node.answer).toMatchObject({ message: expect.stringMatching(/; 5 CPUs are kept for 5 pods that/) });
  });

  test('then a refusal does not count its own pod, and a refusal for another reason counts none', () => {
    const node = planned(1);
    expect(node.run('ask p0/a 8').answer).toMatchObject({ message: expect.not.stringContaining('kept') });
  });

  test('then the text for the operator names the pods, the first few of many', () => {
    const view = planned(5).model;
    expect(describeKeptCpus(view, { uid: 'q' }, { withNames: true })).toMatch(
      / for 5 pods \(ns\/p0, ns\/p1, ns\/p2, 2 more\) that/,
    );
    const long = planned(0);
    long.send({ kind: 'pod-spec', spec: specOf('p', 'a 1', { name: 'n'.repeat(5_000) }) });
    expect(describeKeptCpus(long.model, { uid: 'q' }, { withNames: true }).length).toBeLessThan(400);
  });
});
