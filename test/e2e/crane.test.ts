import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineUnless } from '../support/not-run';
import {
  type ContainerSpec,
  type Daemon,
  exclusiveList,
  lastCpu,
  onlineCpus,
  onRuntimes,
  poll,
  printMaskThenSleep,
  readStatus,
  type Runtime,
  type RunningContainer,
  type RunningPod,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

/** CPU 0 is reserved, and pods may choose their policies. On the smallest machine there is one more CPU. */
const ARGS = ['--reserved-cpus', '0', '--pod-policies', 'all'];

const POLICY = 'topology.crane.io/cpu-policy';
const shared: ContainerSpec = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };
/** A container with whole CPUs but without memory: its pod is Burstable, which the kubelet's policy would not pin. */
const whole = (name: string, cpus = lastCpu): ContainerSpec => ({
  name,
  cpuRequestMilli: cpus * 1000,
  cpuLimitMilli: cpus * 1000,
  command: printMaskThenSleep,
});

onRuntimes(['sid'], "Crane's policies by annotation", (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let web: RunningContainer;
  let pods: RunningPod[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());
  afterEach(async () => {
    for (const pod of pods) await pod.remove();
    pods = [];
    await daemon?.dispose();
  });

  const start = async (args: readonly string[] = ARGS): Promise<void> => {
    daemon = startDaemon({ runtime, args });
    await daemon.ready();
    web = await run('web', {}, [shared]);
  };

  /** Runs a pod with these annotations, and starts one of its containers. */
  const run = async (
    name: string,
    annotations: Readonly<Record<string, string>>,
    containers: readonly ContainerSpec[] = [whole(name)],
  ): Promise<RunningContainer> => {
    const pod = await runtime.kubelet.runPod({ annotations, containers });
    pods.push(pod);
    return pod.startContainer(name);
  };

  const remove = async (): Promise<void> => {
    await pods.pop()!.remove();
  };

  test('exclusive, immovable, numa, none: each has its CPUs at its first instruction', async () => {
    await start();
    const exclusive = await run('exclusive', { [POLICY]: 'exclusive' });
    expect(await exclusive.firstLine()).toBe(exclusiveList);
    expect(web.cpuset().cpus).toBe('0');
    await remove();
    await waitUntil('the pool to grow again', () => web.cpuset().cpus === onlineCpus);

    const immovable = await run('immovable', { [POLICY]: 'immovable' });
    expect(await immovable.firstLine()).toBe(exclusiveList);
    expect(web.cpuset().cpus).toBe(onlineCpus);
    await expect(run('second', { [POLICY]: 'immovable' })).rejects.toThrow(/fixed CPUs?, 0 can be given now/);
    await remove();
    await expect(run('second', { [POLICY]: 'exclusive' })).rejects.toThrow(/exclusive CPUs?, 0 can be given now/);
    await remove();

    // The immovable one shares its CPUs with it; but reserved CPUs are left out.
    const numa = await run('numa', { [POLICY]: 'numa' });
    expect(await numa.firstLine()).toBe(exclusiveList);
    expect(web.cpuset().cpus).toBe(onlineCpus);

    const none = await run('none', { 'cpusetd.io/policy': 'none' }, [
      { name: 'none', cpus: lastCpu, command: printMaskThenSleep },
    ]);
    expect(await none.firstLine()).toBe(onlineCpus);
  });

  test('an exclusive container never takes the last shared CPU of a numa one', async () => {
    await start();
    await run('numa', { [POLICY]: 'numa' });
    await expect(run('greedy', { [POLICY]: 'exclusive' })).rejects.toThrow(
      /containers that share the CPUs of a NUMA node keep at least one there/,
    );
  });

  test('an annotation for one container wins over that of its pod', async () => {
    await start();
    const annotations = { [POLICY]: 'none', 'policy.cpusetd.io/container.db': 'exclusive' };
    const db = await run('db', annotations, [whole('db'), whole('log', 1)]);
    expect(await db.firstLine()).toBe(exclusiveList);
    const log = await pods.at(-1)!.startContainer('log');
    expect(await log.firstLine()).toBe('0');
  });

  test("the containers of a pod share the CPUs that Crane's scheduler chose for it", async () => {
    await start();
    const result = [{ name: 'node0', type: 'Node', resources: { capacity: { cpu: '1' } } }];
    const annotations = { [POLICY]: 'exclusive', 'topology.crane.io/topology-result': JSON.stringify(result) };
    const first = await run('first', annotations, [whole('first', 1), whole('second', 1)]);
    const second = await pods.at(-1)!.startContainer('second');
    expect([await first.firstLine(), await second.firstLine()]).toEqual(['1', '1']);
    expect(web.cpuset().cpus).toBe(lastCpu === 1 ? '0' : `0,2${lastCpu === 2 ? '' : `-${lastCpu}`}`);
  });

  test.each`
    name                                 | result
    ${'it is no list of zones'}          | ${'{"name":"node0"'}
    ${'there is no such node'}           | ${'[{"name":"node9","type":"Node","resources":{"capacity":{"cpu":"1"}}}]'}
    ${'it names more CPUs than allowed'} | ${'[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"999"}}}]'}
  `(
    "a result of Crane's scheduler is not followed when $name: cpusetd chooses the CPUs",
    async ({ result }: { result: string }) => {
      await start();
      const db = await run('db', { [POLICY]: 'exclusive', 'topology.crane.io/topology-result': result });
      expect(await db.firstLine()).toBe(exclusiveList);
      expect(await daemon.waitForLog('annotation ignored')).toMatchObject({
        container: 'db',
        annotation: 'topology.crane.io/topology-result',
      });
    },
  );

  // A numa set of one CPU can't become smaller: see the test of the last shared CPU above.
  const tooSmall = `3 CPUs are needed; emulated machine 2x4x2-2numa proves it: claim "Crane's policies"`;
  defineUnless(lastCpu < 2 ? tooSmall : undefined, () =>
    test('an exclusive container makes a numa set smaller until it is removed', async () => {
      await start();
      const numa = await run('numa', { [POLICY]: 'numa' }, [whole('numa', 1)]);
      expect(await numa.firstLine()).toBe(exclusiveList);
      const db = await run('db', { [POLICY]: 'exclusive' }, [whole('db', 1)]);
      expect(numa.cpuset().cpus).not.toContain(await db.firstLine());
      await remove();
      await waitUntil('the numa set to grow again', () => numa.cpuset().cpus === exclusiveList);
    }),
  );

  test('a Crane policy as policy of the node: it is for pods without a choice, and running pods keep it when it changes', async () => {
    await start(['--reserved-cpus', '0', '--cpu-manager-policy', 'exclusive']);
    const db = await run('db', {}); // Burstable
    expect(await db.firstLine()).toBe(exclusiveList);
    expect(web.cpuset().cpus).toBe('0');
    const before = daemon;
    await before.stop();
    const args = ['--reserved-cpus', '0', '--cpu-manager-policy', 'numa'];
    daemon = startDaemon({ runtime, args, stateDir: before.stateDir });
    try {
      await daemon.ready();
      const verdict = await poll('the container to be judged', async () => {
        const judged = (await readStatus(daemon)).containers.find(({ id }) => id === db.id)?.verdict;
        return judged?.kind === 'held-under-old-rules' ? judged : undefined;
      });
      expect(verdict.reason).toBe('given under cpu-manager-policy exclusive, which is numa now');
      expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual([exclusiveList, '0']);
    } finally {
      await daemon.stop(); // its state is in the folder of the one before
      await before.dispose();
    }
  });

  test('exclude-reserved-cpus: the pod does not run on reserved CPUs', async () => {
    await start();
    const other = await run('other', { 'topology.crane.io/exclude-reserved-cpus': 'true' }, [
      { ...shared, name: 'other' },
    ]);
    expect(await other.firstLine()).toBe(exclusiveList);
  });

  test('SIGKILL and a new start: immovable and numa containers keep their CPUs', async () => {
    await start();
    const immovable = await run('immovable', { [POLICY]: 'immovable' });
    const numa = await run('numa', { [POLICY]: 'numa' });
    await daemon.kill();
    daemon.start();
    await daemon.ready();
    expect([immovable.cpuset().cpus, numa.cpuset().cpus, web.cpuset().cpus]).toEqual([
      exclusiveList,
      exclusiveList,
      onlineCpus,
    ]);
    await expect(run('second', { [POLICY]: 'exclusive' })).rejects.toThrow(/0 can be given now/);
  });

  test('lost state: a container that is exclusive by annotation keeps its CPUs', async () => {
    await start();
    const db = await run('db', { [POLICY]: 'exclusive' });
    await daemon.kill();
    writeFileSync(join(daemon.stateDir, 'state.json'), '{"torn');
    const mark = daemon.mark();
    daemon.start();
    await daemon.waitForLog((line) => line.msg === 'restored' && line.cpus === exclusiveList, { from: mark });
    expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual([exclusiveList, '0']);
  });

  test('without --pod-policies the annotation is ignored, and the log says so', async () => {
    await start(['--reserved-cpus', '0']);
    const db = await run('db', { [POLICY]: 'exclusive' });
    expect(await db.firstLine()).toBe(onlineCpus);
    expect(await daemon.waitForLog('annotation ignored')).toMatchObject({
      container: 'db',
      annotation: POLICY,
      because: 'the operator does not let pods choose exclusive here (--pod-policies)',
    });
  });
});
