import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerState, ExecSyncRequest, RuntimeServiceDefinition } from '../gen/cri/v1/cri';
import { CLIENT_PREFACE, Flag, formatFrame, formatWindowUpdate, FrameType } from '../../src/cri/proxy/http2/frame';
import { encodeHeaders } from '../../src/cri/proxy/http2/hpack-encoder';
import { readCriTable } from '../cri/every-method/cri-table';
import { collect, TestClient } from '../cri/proxy/harness';
import { connectRaw, opening, type RawClient, requestHead, requestMessage } from '../cri/proxy/raw-client';
import { readPeakMiB } from '../support/peak-memory';
import { pinned, PROXY, readProxyStatus, shared } from './proxy-node';
import { openTap, type Tap } from './proxy-tap';
import {
  type Daemon,
  defineOnce,
  exclusiveList,
  type Kubelet,
  lastCpu,
  onlineCpus,
  onRuntimes,
  runtimeNames,
  type Runtime,
  type RunningPod,
  patienceMs,
  poll,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const RUNTIME = '/runtime.v1.RuntimeService/';
const MEBIBYTE = 1_048_576;
const { methods } = RuntimeServiceDefinition;
const paths = readCriTable().methods.map(({ path }) => path);

/** A client that makes one call, lets the server send everything at once, and reads nothing until it is resumed. */
function callWithoutReading(socketPath: string, path: string, message: Uint8Array): Socket {
  const socket = connect(socketPath);
  socket.pause();
  const fields = encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ]);
  const body = Buffer.alloc(5 + message.length);
  body.writeUInt32BE(message.length, 1);
  body.set(message, 5);
  socket.write(
    Buffer.concat([
      CLIENT_PREFACE,
      formatFrame(FrameType.settings, 0, 0, Uint8Array.of(0, 4, 0x7f, 0xff, 0xff, 0xff)),
      formatWindowUpdate(0, 1_000_000_000),
      formatFrame(FrameType.headers, Flag.endHeaders, 1, fields),
      formatFrame(FrameType.data, Flag.endStream, 1, body),
    ]),
  );
  return socket;
}

onRuntimes(['trixie', 'sid'], 'faults around the CRI proxy, NRI off', (suite) => {
  let folder: string;
  let runtime: Runtime;
  let daemon: Daemon;
  let kubelet: Kubelet;
  let client: TestClient;
  let tap: Tap | undefined;
  const slow: Socket[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cpusetd-f-'));
    runtime = await startRuntime({ suite, nri: false });
  });
  afterAll(async () => {
    await runtime?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const socket of slow.splice(0)) socket.destroy();
    try {
      await runtime.kubelet.removePods(); // past the proxy, which may have ended
    } finally {
      client?.grpc.close();
      await daemon?.dispose();
      tap?.close();
      tap = undefined;
    }
  });

  const start = async (...args: string[]): Promise<void> => {
    daemon = startDaemon({ runtime, args: [...PROXY, ...args] });
    await daemon.ready();
    kubelet = runtime.kubeletAt(daemon.criListen);
    client = new TestClient(daemon.criListen);
  };
  const runPod = (...containers: (typeof pinned)[]): Promise<RunningPod> => kubelet.runPod({ containers });
  /** Until the proxy has its connection to a runtime that was started again. */
  const throughProxy = () =>
    waitUntil(
      'the client to get through',
      async () => (await client.run(`${RUNTIME}Status`, [Buffer.alloc(0)])).code === 0,
    );
  /**
   * Removes a container as the kubelet does. False while the runtime is busy with it. When StartContainer was cut off,
   * containerd may say that it has ended and refuse to remove its task, until containerd is started again: see its
   * issue 11037.
   */
  const removes = async (containerId: string): Promise<boolean> => {
    try {
      await kubelet.channel.call(methods.stopContainer, { containerId, timeout: 0n }, { waitForReady: true });
      await kubelet.channel.call(methods.removeContainer, { containerId });
      return true;
    } catch (error) {
      if (!String(error).includes('cannot delete running task')) return false;
      console.info(`${runtimeNames[suite]} is started again: ${String(error)}`);
      await runtime.kill();
      await runtime.start();
      await throughProxy();
      return false;
    }
  };
  /**
   * Starts container `db` as the kubelet does after a call to create it was cut off: it removes what has been made of
   * it, and tries again until the runtime has ended the first creation.
   */
  const startAgain = (pod: RunningPod) =>
    poll('the container', async () => {
      const filter = { id: '', podSandboxId: pod.id, state: undefined, labelSelector: {} };
      const { containers } = await kubelet.channel.call(methods.listContainers, { filter }, { waitForReady: true });
      for (const { id } of containers) if (!(await removes(id))) return undefined;
      return pod.startContainer('db').catch((error: unknown) => {
        if (/is reserved for|can be given now/.test(String(error))) return undefined;
        throw error;
      });
    });
  /** True when the daemon knows no container and keeps no CPUs. */
  const isEmpty = async (): Promise<boolean> => {
    const { containers, idle, node } = await readProxyStatus(daemon);
    return containers.length === 0 && idle.length === 0 && node.sharedPool === onlineCpus;
  };

  test('containerd is killed during a call and a stream: both end with UNAVAILABLE of cpusetd, and the same client goes on', async () => {
    await start();
    const pod = await runPod(pinned);
    const db = await pod.startContainer('db');
    const events = client.open(`${RUNTIME}GetContainerEvents`);
    const eventsEnd = collect(events);
    events.end(Buffer.alloc(0));
    const request = { containerId: db.id, cmd: ['sleep', '60'], timeout: 60n };
    const call = client.run(`${RUNTIME}ExecSync`, [ExecSyncRequest.encode(ExecSyncRequest.create(request)).finish()]);
    await waitUntil('the command to run', () => db.pids().length > 1);

    const mark = daemon.mark();
    const killedAtMs = Date.now();
    await runtime.kill();
    const lost = { code: 14, details: 'cpusetd: the connection to the container runtime was lost during the call' };
    expect(await call).toMatchObject(lost);
    expect(await eventsEnd).toMatchObject(lost);
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await waitUntil('the gap to begin', async () => (await readProxyStatus(daemon)).node.gap.to === undefined);
    await runtime.start();
    await daemon.waitForLog('synchronized with the runtime', { from: mark });
    // The gap begins with the end of the runtime.
    const { from, to } = (await readProxyStatus(daemon)).node.gap;
    expect(Date.parse(from)).toBeGreaterThan(killedAtMs - 2_000); // a stall of a machine under load may come before it
    expect(Date.parse(to!)).toBeGreaterThan(Date.parse(from));
    await throughProxy();
    await kubelet.channel.call(methods.version, { version: 'v1' }, { waitForReady: true });
    await pod.remove();
    await waitUntil('nothing to be left', isEmpty);
  });

  test('the kubelet disconnects during creations: no CPU stays with an unknown container', async () => {
    await start();
    for (let round = 0; round < 5; round++) {
      const pod = await runPod(pinned);
      const mark = daemon.mark();
      const gone = runtime.kubeletAt(daemon.criListen);
      const doomed = pod.through(gone).createContainer('db');
      const outcome = doomed.then(
        () => 'made',
        () => 'lost',
      );
      await daemon.waitForLog(({ msg, container }) => msg === 'pinned' && container === 'db', { from: mark });
      gone.close();
      await outcome;
      const again = await startAgain(pod);
      expect(await again.firstLine()).toBe(exclusiveList);
      await pod.remove();
      await waitUntil('nothing to be left', isEmpty);
    }
  });

  defineOnce(suite, () => {
    test('clients that do not read: memory is bounded, other calls go on, and they get all bytes in the end', async () => {
      await start();
      const pod = await runPod(pinned);
      const db = await pod.startContainer('db');
      const bytes = 12 * MEBIBYTE;
      const messageOf = (n: number) => {
        const cmd = ['sh', '-c', `head -c ${bytes} /dev/zero; : > /tmp/ended-${n}`];
        return ExecSyncRequest.encode(ExecSyncRequest.create({ containerId: db.id, cmd, timeout: 120n })).finish();
      };
      const hasEnded = (n: number) => existsSync(`/proc/${db.pids()[0]}/root/tmp/ended-${n}`);
      const callers = Array.from({ length: 8 }, (_, n) => n);
      for (let n = 0; n < 50; n++) await client.run(`${RUNTIME}Version`, [Buffer.from([10, 2, 118, 49])]);
      const before = readPeakMiB(daemon.pid);
      for (const n of callers) slow.push(callWithoutReading(daemon.criListen, `${RUNTIME}ExecSync`, messageOf(n)));
      await waitUntil('the commands to end', () => callers.every(hasEnded));
      for (let n = 0; n < 200; n++)
        expect((await client.run(`${RUNTIME}Version`, [Buffer.from([10, 2, 118, 49])])).code).toBe(0);
      const grown = readPeakMiB(daemon.pid) - before;
      console.info(`8 unread answers of 12 MiB each: the proxy grew by ${grown.toFixed(1)} MiB`);
      expect(grown).toBeLessThan(24);

      const received = slow.map((socket) => {
        let count = 0;
        socket.on('data', (chunk: Buffer) => (count += chunk.length)).resume();
        return () => count;
      });
      await waitUntil('all of it to arrive', () => received.every((count) => count() > bytes));
    });

    test('a client that opens 300 connections, uses each once and closes none: all its calls succeed, the longest idle are closed, and a kubelet that restarts is served', async () => {
      await start();
      const version = Buffer.from([10, 2, 118, 49]);
      const before = readPeakMiB(daemon.pid);
      const leaked: RawClient[] = [];
      for (let n = 0; n < 300; n++) {
        const leaking = connectRaw(daemon.criListen, { answers: true });
        slow.push(leaking.socket);
        leaked.push(leaking);
        leaking.socket.write(Buffer.concat([opening, requestHead(1, `${RUNTIME}Version`), requestMessage(1, version)]));
        await waitUntil(`the answer on connection ${n + 1}`, () => leaking.hasEnded(1));
      }
      const isOpen = ({ socket }: RawClient): boolean => !socket.destroyed;
      expect((await client.run(`${RUNTIME}Version`, [version])).code).toBe(0);
      kubelet = runtime.kubeletAt(daemon.criListen);
      const pod = await runPod(pinned);
      expect(await (await pod.startContainer('db')).firstLine()).toBe(exclusiveList);
      await waitUntil('the longest idle connections to be closed', () => leaked.filter(isOpen).length <= 256);
      expect(leaked.slice(-200).filter(isOpen)).toHaveLength(200);
      const grown = readPeakMiB(daemon.pid) - before;
      console.info(`300 connections: the proxy grew by ${grown.toFixed(1)} MiB`);
      expect(grown).toBeLessThan(48);
    });
  });

  test('messages over the limit: proxy or runtime refuses them, and the connection goes on', async () => {
    await start();
    const version = () => client.run(`${RUNTIME}Version`, [Buffer.from([10, 2, 118, 49])]);
    expect((await version()).code).toBe(0);
    const huge = Buffer.alloc(17 * MEBIBYTE, 1);
    expect(await client.run(`${RUNTIME}CreateContainer`, [huge])).toMatchObject({
      code: 8,
      details: expect.stringMatching(/^cpusetd: the request has 17825792 bytes, \d+ are allowed$/) as string,
    });
    expect((await version()).code).toBe(0);
    const other = await client.run(`${RUNTIME}ExecSync`, [huge]);
    expect(other.code).toBe(8);
    expect(other.details).not.toContain('cpusetd: ');
    expect((await version()).code).toBe(0);
  });

  defineOnce(suite, () => {
    test('1,000 calls at a time: each has its answer', async () => {
      await start();
      const pod = await runPod(shared);
      const web = await pod.startContainer('web');
      const outcomes = await Promise.all(
        Array.from({ length: 1000 }, (_, n) =>
          n % 2 === 0
            ? kubelet.channel.call(methods.version, { version: 'v1' }, { timeoutMs: 120_000 })
            : kubelet.channel.call(
                methods.containerStatus,
                { containerId: web.id, verbose: true },
                { timeoutMs: 120_000 },
              ),
        ),
      );
      const answers = outcomes.map((outcome) => ('runtimeName' in outcome ? outcome.runtimeName : outcome.status?.id));
      expect(new Set(answers.filter((_, n) => n % 2 === 0))).toEqual(new Set(['containerd']));
      expect(new Set(answers.filter((_, n) => n % 2 === 1))).toEqual(new Set([web.id]));
    });
  });

  test('SIGKILL at any moment of a creation: after the restart no CPU is given twice, and none is lost', async () => {
    await start('--reconcile-period', '500ms');
    for (const delayMs of [0, 2, 5, 10, 20, 40]) {
      const pod = await runPod(pinned);
      const mark = daemon.mark();
      const creating = pod.startContainer('db').then(
        () => 'started',
        () => 'cut off',
      );
      await daemon.waitForLog(({ msg, container }) => msg === 'pinned' && container === 'db', { from: mark });
      await new Promise((resolve) => setTimeout(resolve, delayMs)); // the moment of the kill
      await daemon.kill();
      await creating;
      daemon.start();
      await daemon.ready();
      // A creation that finished after the list is found by a later round. A container that was interrupted at its
      // start has ended.
      const status = await poll(
        'the daemon to know the containers of the runtime',
        async () => {
          const { containers: had } = await kubelet.channel.call(
            methods.listContainers,
            { filter: { id: '', podSandboxId: pod.id, state: undefined, labelSelector: {} } },
            { waitForReady: true },
          );
          const known = await readProxyStatus(daemon);
          const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id).join();
          const alive = had.filter(({ state }) => state !== ContainerState.CONTAINER_EXITED);
          return ids(alive) === ids(known.containers) ? known : undefined;
        },
        patienceMs,
        200,
      );
      expect(status.containers.map(({ promise }) => promise?.cpus)).toEqual(status.containers.map(() => exclusiveList));
      expect(status.node.sharedPool).toBe('0'); // the pod keeps them, with or without the container
      const again = await startAgain(pod);
      expect(await again.firstLine()).toBe(exclusiveList);
      await pod.remove();
      await waitUntil('nothing to be left', isEmpty);
    }
  });

  test('a resize gets a new decision; one that the runtime refuses changes nothing', async () => {
    await start();
    const crowd = await runPod(shared);
    const web = await crowd.startContainer('web');
    const pod = await runPod(pinned);
    const db = await pod.startContainer('db');
    const whole = {
      cpuPeriod: 100_000n,
      cpuQuota: BigInt(lastCpu * 100_000),
      cpuShares: BigInt(lastCpu * 1024),
    };
    const half = { cpuPeriod: 100_000n, cpuQuota: 50_000n, cpuShares: 512n };
    await expect(db.update({ ...half, memoryLimitInBytes: 4096n })).rejects.toMatchObject({
      message: expect.not.stringContaining('cpusetd: ') as string,
    });
    expect((await readProxyStatus(daemon)).node.sharedPool).toBe('0');
    await waitUntil('its CPUs to be there', () => db.cpuset().cpus === exclusiveList && web.cpuset().cpus === '0');

    await db.update(half);
    expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual([onlineCpus, onlineCpus]);
    await db.update(whole);
    expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual([exclusiveList, '0']);
  });

  defineOnce(suite, () => {
    test('--on-insufficient-cpu share: a container without free CPUs runs in the shared pool', async () => {
      await start('--on-insufficient-cpu', 'share');
      const first = await runPod(pinned);
      await first.startContainer('db');
      const second = await runPod(pinned);
      const late = await second.startContainer('db');
      expect(await late.firstLine()).toBe('0');
    });

    test.each(['refuse', 'share'])('a shared container that cannot be moved, --on-insufficient-cpu %s', async (how) => {
      let isInTrouble = false;
      const behind = join(folder, 'runtime.sock');
      const refuses = (path: string) => isInTrouble && path.endsWith('/UpdateContainerResources');
      tap = await openTap(behind, { behind: runtime.criSocket, marks: false, paths, refuses });
      const args = [...PROXY, '--cri-endpoint', behind, '--cgroup-writes', 'off', '--on-insufficient-cpu', how];
      daemon = startDaemon({ args });
      await daemon.ready();
      kubelet = runtime.kubeletAt(daemon.criListen);
      const crowd = await runPod(shared);
      const web = await crowd.startContainer('web');
      const pod = await runPod(pinned);
      isInTrouble = true;
      const creating = pod.startContainer('db');
      if (how === 'refuse') {
        await expect(creating).rejects.toMatchObject({
          code: 'UNAVAILABLE',
          message: expect.stringContaining('cpusetd: its CPUs could not be cleared of other containers') as string,
        });
        isInTrouble = false;
        const db = await pod.startContainer('db');
        expect([await db.firstLine(), web.cpuset().cpus]).toEqual([exclusiveList, '0']);
      } else {
        expect(await (await creating).firstLine()).toBe(onlineCpus);
        expect((await readProxyStatus(daemon)).node.sharedPool).toBe(onlineCpus);
      }
    });
  });

  if (suite === 'trixie')
    test('a kubelet with runtime.v1alpha2, as before Kubernetes 1.26: its containers get their CPUs too', async () => {
      await start();
      kubelet = runtime.kubeletAt(daemon.criListen, 'runtime.v1alpha2.RuntimeService');
      const pod = await runPod(pinned);
      const db = await pod.startContainer('db');
      expect(await db.firstLine()).toBe(exclusiveList);
      await db.update({ cpusetCpus: '0' });
      expect(db.cpuset().cpus).toBe(exclusiveList);
    });
});
