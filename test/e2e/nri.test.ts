import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ContainerSpec,
  type Daemon,
  defineOnce,
  exclusiveList,
  isHealthy,
  lastCpu,
  onlineCpus,
  onEachRuntime,
  waitUntil,
  printMaskThenExit,
  printMaskThenSleep,
  readStatus,
  type RunningContainer,
  type Runtime,
  startDaemon,
  startRuntime,
} from './rig';

jest.setTimeout(300_000);

/** CPU 0 is reserved. On the smallest machine there is one more CPU, which is enough for all tests here. */
const RESERVED = ['--reserved-cpus', '0'];

const shared = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };
const pinned = { name: 'db', cpus: lastCpu, command: printMaskThenSleep };

/** CRI-O makes a pause container only for pods that share a PID namespace. */
const withPause = (container: ContainerSpec) => ({ containers: [container], shareProcessNamespace: true });

async function verdictsOf(daemon: Daemon, id: string): Promise<string[]> {
  return (await readStatus(daemon)).containers.flatMap((each) => (each.id === id ? [each.verdict.kind] : []));
}

onEachRuntime('cpusetd as an NRI plugin', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    console.info(runtime.label);
  });
  afterAll(() => runtime?.stop());
  afterEach(() => daemon?.dispose());

  const start = async (...args: string[]): Promise<void> => {
    daemon = startDaemon({ runtime, args: [...RESERVED, ...args] });
    await daemon.ready();
  };
  const synchronized = (from = 0) =>
    daemon.waitForLog((line) => line.msg === 'synchronized with the runtime', { from });

  test('the first process of a pinned container: it runs on the promised CPUs, and shared containers have left them before', async () => {
    await start();
    const sharedPod = await runtime.kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    expect(await web.firstLine()).toBe(onlineCpus);

    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.createContainer('db');
    // The container is created and not started: it has no process yet, and its CPUs are already free.
    expect(web.cpuset().cpus).toBe('0');
    expect(web.masks()).toEqual(['0']);
    await db.start();
    expect(await db.firstLine()).toBe(exclusiveList);
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await daemon.waitForLog(
      (line) => line.msg === 'pinned' && line.container === 'db' && typeof line.because === 'string',
    );

    await pod.remove();
    await waitUntil('the pool to grow again', () => web.cpuset().cpus === onlineCpus);
    await sharedPod.remove();
  });

  test('pause containers, old and new, after a restart and after a foreign write: they are not on exclusive CPUs', async () => {
    await start();
    const old = await runtime.kubelet.runPod(withPause(shared));
    expect(old.pause.masks()).toEqual(['0']); // the reserved CPU
    const pod = await runtime.kubelet.runPod(withPause(pinned));
    const db = await pod.createContainer('db');
    for (const { pause } of [old, pod]) expect(pause.masks()).toEqual(['0']);
    await db.start();
    const young = await runtime.kubelet.runPod(withPause(shared));
    expect(young.pause.masks()).toEqual(['0']); // when RunPodSandbox is answered

    old.pause.writeCpuset(onlineCpus);
    await waitUntil('the pause container to be moved back', () => old.pause.masks().every((mask) => mask === '0'));
    const [shown] = (await readStatus(daemon)).containers.filter(({ id }) => id === old.id);
    expect(shown).toMatchObject({ container: '(pause)', pause: true, placement: 'shared', promise: { cpus: '0' } });

    await daemon.kill();
    const unseen = await runtime.kubelet.runPod(withPause(shared));
    expect(unseen.pause.masks()).toEqual([onlineCpus]); // cpusetd is away
    daemon.start();
    await daemon.ready();
    await waitUntil('the pause container to be found', () => unseen.pause.masks().every((mask) => mask === '0'));
    await waitUntil('its verdict', async () => (await verdictsOf(daemon, unseen.id)).join() === 'kept');

    await pod.remove();
    const isKnown = async () => (await readStatus(daemon)).containers.some(({ id }) => id === pod.id);
    await waitUntil('the pause container to be forgotten', async () => !(await isKnown()));
    for (const each of [old, young, unseen]) await each.remove();
  });

  test('pause containers without cgroup writes: they are not moved, and the status has the reason', async () => {
    await start('--cgroup-writes', 'off');
    const pod = await runtime.kubelet.runPod(withPause(pinned));
    await pod.startContainer('db');
    expect(pod.pause.masks()).toEqual([onlineCpus]);
    const [shown] = (await readStatus(daemon)).containers.filter(({ id }) => id === pod.id);
    expect(shown).toMatchObject({ placement: 'left-alone', because: expect.stringContaining('cgroup-writes is off') });
    await pod.remove();
  });

  test("the runtime's record follows in the background, and an update without a cpuset changes no CPUs", async () => {
    await start();
    const sharedPod = await runtime.kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    await waitUntil(
      'the record of the shared container',
      async () => (await web.status()).resources?.linux?.cpusetCpus === '0',
    );

    await db.update({ cpuShares: 2048n });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await web.update({ cpuShares: 512n, cpusetCpus: onlineCpus }); // an update by another client
    expect(web.cpuset().cpus).toBe('0');
    await pod.remove();
    await sharedPod.remove();
  });

  test('a foreign write to a cgroup is repaired', async () => {
    await start('--reconcile-period', '500ms');
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    db.writeCpuset('0');
    const noticed = await daemon.waitForLog((line) => line.msg === 'drifted');
    expect(noticed).toMatchObject({ promised: exclusiveList, found: '0', container: 'db' });
    await daemon.waitForLog('repaired');
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await waitUntil('its verdict', async () => (await verdictsOf(daemon, db.id)).join() === 'kept');
    await pod.remove();
  });

  test('a pod that does not fit: it is refused with numbers and a reason, and starts when CPUs are free', async () => {
    await start();
    const first = await runtime.kubelet.runPod({ containers: [pinned] });
    await first.startContainer('db');
    const second = await runtime.kubelet.runPod({ containers: [pinned] });
    await expect(second.startContainer('db')).rejects.toThrow(
      new RegExp(`asked for ${lastCpu} exclusive CPUs?, 0 can be given now: 0 of ${lastCpu} allocatable`),
    );
    await first.remove();
    const db = await second.startContainer('db');
    expect(await db.firstLine()).toBe(exclusiveList);
    await second.remove();
  });

  test('SIGKILL: no container moves, and one that was created meanwhile is found and moved at the next start', async () => {
    await start();
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    await daemon.kill();
    expect(db.cpuset().cpus).toBe(exclusiveList);
    const unseenPod = await runtime.kubelet.runPod({ containers: [shared] });
    const unseen = await unseenPod.startContainer('web');
    expect(await unseen.firstLine()).toBe(onlineCpus); // cpusetd is away: this is the gap
    const mark = daemon.mark();
    daemon.start();
    await daemon.waitForLog((line) => line.msg === 'found unpinned' && line.container === 'web', { from: mark });
    await synchronized(mark);
    expect(unseen.cpuset().cpus).toBe('0');
    expect(unseen.masks()).toEqual(['0']);
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await unseenPod.remove();
    await pod.remove();
  });

  test('a damaged state file: the state is rebuilt from the runtime, and pinned containers keep their CPUs', async () => {
    await start();
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    await daemon.kill();
    writeFileSync(join(daemon.stateDir, 'state.json'), '{"torn');
    const mark = daemon.mark();
    daemon.start();
    await daemon.waitForLog((line) => line.msg === 'restored' && line.cpus === exclusiveList, { from: mark });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    expect(readdirSync(daemon.stateDir).some((name) => name.startsWith('state.json.bad-'))).toBe(true);
    await pod.remove();
  });

  test('containerd is killed and started: health changes, promises stay, and pods that end later are released', async () => {
    await start('--reconcile-period', '500ms');
    expect(await isHealthy(daemon, 'nri')).toBe(true);
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    const mark = daemon.mark();
    await runtime.kill();
    await waitUntil('health to be gone', async () => !(await isHealthy(daemon, 'nri')));
    expect(await isHealthy(daemon, '')).toBe(true);
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await runtime.start();
    await synchronized(mark);
    await waitUntil('health to be back', () => isHealthy(daemon, 'nri'));
    expect(db.cpuset().cpus).toBe(exclusiveList);
    // The runtime does not report the end of pods that are older than itself.
    await pod.remove();
    await daemon.waitForLog('released', { from: mark });
    expect((await readStatus(daemon)).node.sharedPool).toBe(onlineCpus);
  });

  test('a container that restarts keeps its CPUs, and an app container takes over those of its init container', async () => {
    await start();
    const pod = await runtime.kubelet.runPod({
      containers: [{ name: 'init', cpus: lastCpu, command: printMaskThenExit }, pinned],
    });
    const init = await pod.startContainer('init');
    expect(await init.firstLine()).toBe(exclusiveList);
    await init.exitCode();
    // The status of the runtime changes before its event.
    await daemon.waitForLog((line) => line.msg === 'idle' && line.container === 'init');
    const db = await pod.startContainer('db');
    expect(await db.firstLine()).toBe(exclusiveList);
    await db.stop();
    const again = await pod.startContainer('db');
    expect(await again.firstLine()).toBe(exclusiveList);
    await pod.remove();
  });

  test('a creation that the runtime fails after the answer: its CPUs are released', async () => {
    await start();
    const pod = await runtime.kubelet.runPod({
      containers: [
        { ...pinned, command: ['/no/such/file'] },
        { ...pinned, name: 'good' },
      ],
    });
    let broken: RunningContainer | undefined;
    const fail = async () => {
      broken = await pod.createContainer('db'); // fails on CRI-O
      await broken.start(); // fails on containerd
    };
    await expect(fail()).rejects.toThrow('/no/such/file');
    await broken?.remove();
    // CRI-O tells no plugin of it, so there the CPUs stay with the pod.
    const isNotified = suite !== 'crio';
    if (!isNotified) await pod.remove();
    const next = isNotified ? pod : await runtime.kubelet.runPod({ containers: [{ ...pinned, name: 'good' }] });
    const good = await next.startContainer('good');
    expect(await good.firstLine()).toBe(exclusiveList);
    await next.remove();
  });

  test('without cgroup writes: the runtime moves shared containers before the creation goes on', async () => {
    await start('--cgroup-writes', 'off');
    const sharedPod = await runtime.kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.createContainer('db');
    expect(web.cpuset().cpus).toBe('0');
    await db.start();
    expect(await db.firstLine()).toBe(exclusiveList);
    await pod.remove();
    await waitUntil('the pool to grow again', () => web.cpuset().cpus === onlineCpus);
    await sharedPod.remove();
  });

  defineOnce(suite, () => {
    test('SIGTERM ends with status 0, and a second instance with any state and mode is refused', async () => {
      await start();
      const asProxy = ['--mode', 'cri-proxy', ...RESERVED];
      for (const [args, stateDir, because] of [
        [RESERVED, daemon.stateDir, /two cpusetd can't share a state directory/],
        [RESERVED, undefined, /only one cpusetd may serve a runtime/],
        [asProxy, undefined, /only one cpusetd may serve a runtime/],
      ] as const) {
        const second = startDaemon({ runtime, args, ...(stateDir !== undefined && { stateDir }) });
        try {
          await second.waitForLog((line) => because.test(JSON.stringify(line)));
          expect(await second.ended()).toBe(1);
        } finally {
          await second.dispose();
        }
      }
      expect(await daemon.stop('SIGTERM')).toBe(0);
    });
  });
});
