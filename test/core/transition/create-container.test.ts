import { nameKept } from '../../../src/core/model/kept-cpus';
import { specOf } from '../../support/spec-of';
import { machineOf, NodeDriver, podOf, resourcesOf, without, type Rules } from './node-driver';

test.each`
  name                                                                      | rules                                          | history                                         | reply                            | state
  ${'whole CPUs in a Guaranteed pod are exclusive'}                         | ${{}}                                          | ${'make p/a 2'}                                 | ${'ok'}                          | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a fraction of a CPU shares'}                                           | ${{}}                                          | ${'ask p/a 1.5'}                                | ${'cpus 0-7'}                    | ${'pool 0-7'}
  ${'no CPU at all shares'}                                                 | ${{}}                                          | ${'ask p/a 0'}                                  | ${'cpus 0-7'}                    | ${'pool 0-7'}
  ${'a shared one is told the pool as it is'}                               | ${{}}                                          | ${'make p/a 4; ask q/b 0'}                      | ${'cpus 0,3-4,7'}                | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'strict-cpu-reservation keeps reserved CPUs out of the pool'}           | ${{ options: { strictCpuReservation: true } }} | ${'ask p/a 0'}                                  | ${'cpus 1-7'}                    | ${'pool 1-7'}
  ${'all but the reserved CPU can be given out'}                            | ${{}}                                          | ${'ask p/a 7'}                                  | ${'cpus 1-7'}                    | ${'p/a 1-7; pool 0'}
  ${'one more is refused, and nothing changes'}                             | ${{}}                                          | ${'ask p/a 8'}                                  | ${'refused RESOURCE_EXHAUSTED'}  | ${'pool 0-7'}
  ${'what others have is not there any more'}                               | ${{}}                                          | ${'make p/a 4; ask q/b 4'}                      | ${'refused RESOURCE_EXHAUSTED'}  | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'on-insufficient-cpu share: it shares instead'}                         | ${{ onInsufficientCpu: 'share' }}              | ${'make p/a 4; ask q/b 4'}                      | ${'cpus 0,3-4,7'}                | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'on-insufficient-cpu share: a restart that does not fit gives back'}    | ${{ onInsufficientCpu: 'share' }}              | ${'make p/a 4; end p/a; make q/b 3; ask p/a 5'} | ${'cpus 0-2,5-6'}                | ${'q/b 3-4,7; pool 0-2,5-6'}
  ${'policy none leaves everybody alone'}                                   | ${{ cpuManagerPolicy: 'none' }}                | ${'ask p/a 2'}                                  | ${'ok'}                          | ${'pool 0-7'}
  ${'full-pcpus-only refuses half a core'}                                  | ${{ options: { fullPcpusOnly: true } }}        | ${'ask p/a 3'}                                  | ${'refused FAILED_PRECONDITION'} | ${'pool 0-7'}
  ${'full-pcpus-only counts whole cores only'}                              | ${{ options: { fullPcpusOnly: true } }}        | ${'ask p/a 8'}                                  | ${'refused RESOURCE_EXHAUSTED'}  | ${'pool 0-7'}
  ${'strict: one CPU stays in the pool, since reserved ones are not in it'} | ${{ options: { strictCpuReservation: true } }} | ${'ask p/a 7'}                                  | ${'refused RESOURCE_EXHAUSTED'}  | ${'pool 1-7'}
  ${'a quota is lifted with the decision'}                                  | ${{ liftCpuQuota: true }}                      | ${'ask p/a 2'}                                  | ${'cpus 1,5 quota -1'}           | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'who shares keeps its quota'}                                           | ${{ liftCpuQuota: true }}                      | ${'ask p/a 1.5'}                                | ${'cpus 0-7'}                    | ${'pool 0-7'}
`('$name', ({ rules, history, reply, state }: { rules: Rules; history: string; reply: string; state: string }) => {
  const node = new NodeDriver(undefined, rules).run(history);
  expect({ reply: node.reply, state: node.state }).toEqual({ reply, state });
});

test('a refusal leaves nothing behind: no pod, no container, nothing to save, but the reason', () => {
  const node = new NodeDriver().run('ask p/a 8');
  expect({ pods: node.model.pods.size, containers: node.model.containers.size, durable: node.isDurable }).toEqual({
    pods: 0,
    containers: 0,
    durable: false,
  });
  expect(node.reported).toEqual([]);
  expect(node.answer).toMatchObject({ message: expect.stringMatching(/asked for 8 .*7/) });
});

test('given a second creation under the id of the first, then it is told what it is answered, and nothing of the first stays', () => {
  const node = new NodeDriver().run('ask p/a 0');
  const { id } = node.container('p/a')!;
  expect(node.container('p/a')!.told!.cpus.toString()).toBe('0-7');
  node.run('make q/b 4');
  const { pods } = node.model;
  const pod = [...pods.values()].find(({ uid }) => uid === 'p')!;
  const answer = node.send({ kind: 'create-container', pod, container: { id, sandboxId: pod.sandboxId, name: 'a', cgroupsPath: '', phase: 'created', resources: {} } }); // prettier-ignore
  const { told, recorded } = node.model.containers.get(id)!;
  expect(answer).toMatchObject({ kind: 'ok', adjust: { cpus: told!.cpus } });
  expect([told, recorded].map((each) => each!.cpus.toString())).toEqual(['0,3-4,7', '0,3-4,7']);
});

test('only what changes assignments has to be saved', () => {
  const node = new NodeDriver();
  const durable = 'pod p;ask p/a 2;created p/a;starting p/a;started p/a;ask p/s 0;end p/s;end p/a;stop p'
    .split(';')
    .map((step) => [step, node.run(step).isDurable]);
  expect(durable.filter(([, is]) => is).map(([step]) => step)).toEqual(['ask p/a 2', 'end p/a', 'stop p']);
});

test('a quota that someone else has lifted already is a conflict, whatever on-insufficient-cpu says', () => {
  const node = new NodeDriver(undefined, { onInsufficientCpu: 'share' });
  const resources = { ...resourcesOf(2), quotaUs: -1 };
  const container = { id: 'c', sandboxId: 's', name: 'c', phase: 'creating', cgroupsPath: '', resources } as const;
  expect(node.send({ kind: 'create-container', pod: podOf('p'), container })).toMatchObject({
    kind: 'refuse',
    code: 'FAILED_PRECONDITION',
  });
});

describe('a creation that fails', () => {
  test.each`
    name                                                     | history                                          | state
    ${'gives fresh CPUs back'}                               | ${'ask p/a 2; end p/a'}                          | ${'pool 0-7'}
    ${'gives them back when only its removal is told'}       | ${'ask p/a 2; forget p/a'}                       | ${'pool 0-7'}
    ${'does so once, however often its end is told'}         | ${'ask p/a 2; end p/a; ask p/a 2; forget p/a#1'} | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'leaves CPUs that it had before idle'}                 | ${'make p/a 2; end p/a; ask p/a 2; end p/a'}     | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'leaves idle CPUs that it took over with the pod'}     | ${'make p/i 2; end p/i; ask p/a 2; end p/a'}     | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'is no failure any more once the runtime has made it'} | ${'create p/a 2; end p/a'}                       | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  `('$name', ({ history, state }: { history: string; state: string }) => {
    expect(new NodeDriver().run(history).state).toBe(state);
  });
});

test('own CPUs of which one is offline now are replaced', () => {
  const machine = machineOf(8, 1);
  const node = new NodeDriver(machine).run('make p/a 2; end p/a');
  node.setTopology(without(machine, '2'));
  expect(node.run('make p/a 2').state).toBe('p/a 1,3; pool 0,4-7');
});

test('own CPUs of which one is reserved now are replaced', () => {
  const node = new NodeDriver().run('make p/a 2; end p/a');
  node.setRules({ reserved: '0-1' });
  expect(node.run('make p/a 2').state).toBe('p/a 4-5; pool 0-3,6-7');
});

describe('under policy none', () => {
  test('containers share while exclusive CPUs from before are held, and are left alone after', () => {
    const node = new NodeDriver().run('make p/a 2');
    node.setRules({ cpuManagerPolicy: 'none' });
    expect(node.run('ask q/b 2').reply).toBe('cpus 0,2-4,6-7');
    expect(node.run('end p/a; stop p; ask q/c 2').reply).toBe('ok');
    expect(node.container('q/c')?.placement).toBe('left-alone');
  });

  test('a container that comes back after the change of policy has no CPUs of its own any more', () => {
    const node = new NodeDriver().run('make p/a 2');
    node.setRules({ cpuManagerPolicy: 'none' });
    expect(node.run('end p/a; ask p/a 2').state).toBe('pool 0-7');
  });
});

describe('CPUs that are kept for pods whose containers are still to come', () => {
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
  `('are named to who is refused, without the names of others: $pods', ({ pods, kept }) => {
    const node = planned(Number(pods)).run('ask q/x 7');
    expect(node.answer).toMatchObject({
      message: expect.stringMatching(new RegExp(`are? reserved${String(kept)}$|is reserved${String(kept)}$`)),
    });
    expect(JSON.stringify(node.answer)).not.toContain('p0');
  });

  test('are named when it asks for more while it runs', () => {
    const node = planned(5).run('make q/x 2');
    const container = node.model.containersOf('q')[0]!;
    node.send({ kind: 'update-container', pod: podOf('q'), container, resources: resourcesOf(4) });
    expect(node.answer).toMatchObject({ message: expect.stringMatching(/; 5 CPUs are kept for 5 pods that/) });
  });

  test('of itself are none, and where it is no lack of CPUs nothing is said of them', () => {
    const node = planned(1);
    expect(node.run('ask p0/a 8').answer).toMatchObject({ message: expect.not.stringContaining('kept') });
  });

  test('are named to the operator with their pods, of many the first', () => {
    const view = planned(5).model;
    expect(nameKept(view, { uid: 'q' }, { withNames: true })).toMatch(
      / for 5 pods \(ns\/p0, ns\/p1, ns\/p2, 2 more\) that/,
    );
    const long = planned(0);
    long.send({ kind: 'pod-spec', spec: specOf('p', 'a 1', { name: 'n'.repeat(5_000) }) });
    expect(nameKept(long.model, { uid: 'q' }, { withNames: true }).length).toBeLessThan(400);
  });
});
