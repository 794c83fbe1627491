import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, credentials } from '@grpc/grpc-js';
import {
  ContainerEventResponse,
  ContainerEventType,
  ImageServiceDefinition,
  RuntimeServiceDefinition,
} from '../gen/cri/v1/cri';
import { type Channel, openChannel } from '../../src/cri/client';
import { readCriTable } from '../cri/every-method/cri-table';
import {
  bundle,
  type ContainerSpec,
  type Daemon,
  defineOnce,
  exclusiveList,
  isHealthy,
  type Kubelet,
  type LogLine,
  lastCpu,
  onlineCpus,
  onRuntimes,
  poll,
  printMaskThenExit,
  type Runtime,
  type RunningContainer,
  type RunningPod,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';
import { LineLog } from './rig/line-log';
import { pinned, PROXY, readProxyStatus, shared } from './proxy-node';
import { openTap } from './proxy-tap';

jest.setTimeout(300_000);

const { methods } = RuntimeServiceDefinition;
const paths = readCriTable().methods.map(({ path }) => path);

/** CRI-O makes a pause container only for pods that share a PID namespace. */
const withPause = (container: ContainerSpec) => ({ containers: [container], shareProcessNamespace: true });

const announced = [
  ContainerEventType.CONTAINER_CREATED_EVENT,
  ContainerEventType.CONTAINER_STARTED_EVENT,
  ContainerEventType.CONTAINER_STOPPED_EVENT,
  ContainerEventType.CONTAINER_DELETED_EVENT,
];

/** Reads the runtime's container events through a socket, until the returned function is called. */
function streamEvents(socket: string, onEvent: (event: ContainerEventResponse) => void): () => Promise<void> {
  const client = new Client(`unix://${socket}`, credentials.createInsecure());
  const path = '/runtime.v1.RuntimeService/GetContainerEvents';
  const call = client.makeServerStreamRequest(
    path,
    (request: Uint8Array) => Buffer.from(request),
    (bytes: Buffer) => ContainerEventResponse.decode(bytes),
    new Uint8Array(),
  );
  call.on('data', onEvent);
  call.on('error', () => undefined); // it is cancelled at the end
  return async () => {
    const closed = new Promise((resolve) => call.once('status', resolve));
    call.cancel();
    await closed;
    client.close();
  };
}

interface Supervisor {
  readonly socket: string;
  readonly log: LineLog<LogLine>;
  waitForLog(message: string, from?: number): Promise<LogLine>;
  daemonPid(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Acts as systemd with a socket unit and `Restart=always`: holds a listening socket, passes it to the daemon as
 * descriptor 3, and starts the daemon again when it ends. It never accepts connections: its event loop is blocked
 * meanwhile.
 */
async function superviseWithSocket(runtime: Runtime): Promise<Supervisor> {
  const dir = mkdtempSync(join(tmpdir(), 'cpusetd-s-'));
  const socket = join(dir, 'cri.sock');
  const sockets = [
    '--admin-socket',
    join(dir, 'admin.sock'),
    '--cri-listen',
    'fd:3',
    '--cri-endpoint',
    runtime.criSocket,
  ];
  const args = [
    bundle,
    'run',
    ...PROXY,
    '--state-dir',
    join(dir, 'state'),
    '--lock-dir',
    join(dir, 'locks'),
    ...['--kubelet-root-dir', join(dir, 'kubelet'), '--cpu-identity-dir', join(dir, 'identity')],
    ...['--nri-socket', join(dir, 'nri.sock')],
    ...sockets,
    '--log-format',
    'json',
  ];
  const script = `
    const { spawnSync } = require('node:child_process');
    const server = require('node:net').createServer().listen(${JSON.stringify(socket)}, () => {
      for (;;) spawnSync(process.execPath, ${JSON.stringify(args)}, { stdio: ['ignore', 'inherit', 'inherit', server._handle.fd] });
    });`;
  const child = spawn(process.execPath, ['-e', script], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const log = new LineLog<LogLine>();
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => log.push(JSON.parse(line) as LogLine));
  const children = `/proc/${child.pid}/task/${child.pid}/children`;
  const daemonPid = () => poll('a daemon', () => Number(readFileSync(children, 'utf8').trim()) || undefined);
  return {
    socket,
    log,
    daemonPid,
    waitForLog: (message, from = 0) => log.waitFor(message, ({ msg }) => msg === message, { from }),
    async stop() {
      const pid = await daemonPid();
      child.kill('SIGKILL'); // first, so that it starts no other daemon
      process.kill(pid, 'SIGTERM');
      await once(lines, 'close');
      rmSync(dir, { recursive: true });
    },
  };
}

onRuntimes(['trixie', 'sid', 'crio'], 'cpusetd as a CRI proxy, NRI off', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let kubelet: Kubelet;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: false });
    console.info(runtime.label);
  });
  afterAll(() => runtime?.stop());
  afterEach(() => daemon?.dispose());

  const start = async (...args: string[]): Promise<void> => {
    daemon = startDaemon({ runtime, args: [...PROXY, ...args] });
    await daemon.ready();
    kubelet = runtime.kubeletAt(daemon.criListen);
  };
  test('the first process of a pinned container: it runs on the promised CPUs, and shared containers have left them before', async () => {
    await start();
    expect(statSync(daemon.criListen).mode & 0o777).toBe(0o600);
    const sharedPod = await kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    expect(await web.firstLine()).toBe(onlineCpus);

    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.createContainer('db');
    // The container is created and not started: it has no process yet, and its CPUs are already free.
    expect(web.cpuset().cpus).toBe('0');
    expect(web.masks()).toEqual(['0']);
    await db.start();
    expect(await db.firstLine()).toBe(exclusiveList);
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await waitUntil('the verdict', async () => {
      const { containers } = await readProxyStatus(daemon);
      return containers.some(({ id, verdict }) => id === db.id && verdict.kind === 'kept');
    });
    const status = await readProxyStatus(daemon);
    expect(status.node).toMatchObject({ mode: 'cri-proxy', sharedPool: '0', nri: { state: 'off' } });
    expect(await isHealthy(daemon, 'cri')).toBe(true);
    expect(await isHealthy(daemon, 'nri')).toBe(false);

    await pod.remove();
    expect(web.cpuset().cpus).toBe(onlineCpus); // before the kubelet had its answer
    await sharedPod.remove();
  });

  test('a shared container, created before a pinned one and started after it: it starts outside the exclusive CPUs', async () => {
    await start();
    const sharedPod = await kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.createContainer('web');
    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    expect(await db.firstLine()).toBe(exclusiveList);
    await web.start();
    expect(await web.firstLine()).toBe('0');
    await sharedPod.remove();
    await pod.remove();
  });

  test('pause containers, old and new, after a restart and after a foreign write: they are not on exclusive CPUs', async () => {
    await start();
    const isOff = (pod: RunningPod) =>
      waitUntil('the pause container to be moved', () => pod.pause.masks().every((mask) => mask === '0'));
    const old = await kubelet.runPod(withPause(shared));
    await waitUntil('the pause container to be known', async () =>
      (await readProxyStatus(daemon)).pauses.some(({ id, container }) => id === old.id && container === '(pause)'),
    );
    const pod = await kubelet.runPod(withPause(pinned));
    const db = await pod.createContainer('db');
    expect(old.pause.masks()).toEqual(['0']); // before its process exists
    await db.start();
    const young = await kubelet.runPod(withPause(shared));
    for (const each of [pod, young]) await isOff(each);
    young.pause.writeCpuset(onlineCpus);
    await isOff(young);

    await daemon.kill();
    old.pause.writeCpuset(onlineCpus); // while cpusetd is away
    daemon.start();
    await daemon.ready();
    await isOff(old);
    await waitUntil('its verdict', async () => {
      const { pauses } = await readProxyStatus(daemon);
      return pauses.some(({ id, verdict }) => id === old.id && verdict.kind === 'kept');
    });
    await kubelet.channel.call(methods.version, { version: 'v1' }, { waitForReady: true });
    await pod.remove();
    for (const each of [old, young]) await each.remove();
  });

  test('an update without a cpuset, or with another one: the CPUs stay', async () => {
    await start();
    const sharedPod = await kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    await db.update({ memoryLimitInBytes: 128n << 20n });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await db.update({ cpusetCpus: '0' });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await web.update({ cpuShares: 512n, cpusetCpus: onlineCpus });
    expect(web.cpuset().cpus).toBe('0');
    await pod.remove();
    await sharedPod.remove();
  });

  test('a foreign write to a cgroup is repaired', async () => {
    await start('--reconcile-period', '500ms');
    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    const mark = daemon.mark();
    db.writeCpuset('0');
    const noticed = await daemon.waitForLog('drifted', { from: mark });
    expect(noticed).toMatchObject({ promised: exclusiveList, found: '0', container: 'db' });
    await waitUntil('the repair', () => db.cpuset().cpus === exclusiveList);
    await pod.remove();
  });

  defineOnce(suite, () => {
    test('a pod that does not fit: cpusetd refuses it with numbers and a reason, and it starts when CPUs are free', async () => {
      await start();
      const first = await kubelet.runPod({ containers: [pinned] });
      await first.startContainer('db');
      const second = await kubelet.runPod({ containers: [pinned] });
      await expect(second.startContainer('db')).rejects.toMatchObject({
        code: 'RESOURCE_EXHAUSTED',
        message: expect.stringMatching(
          new RegExp(`cpusetd: .*asked for ${lastCpu} exclusive CPUs?, 0 can be given now: 0 of ${lastCpu}`),
        ) as string,
      });
      await first.remove();
      const db = await second.startContainer('db');
      expect(await db.firstLine()).toBe(exclusiveList);
      await second.remove();
    });
  });

  test("a creation that the runtime refuses: its CPUs are released at once, and the runtime's error is unchanged", async () => {
    await start();
    const sharedPod = await kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    const pod = await kubelet.runPod({ containers: [pinned] });
    await pod.stop();
    await kubelet.channel.call(methods.removePodSandbox, { podSandboxId: pod.id });
    const failure = await pod.createContainer('db').catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ message: expect.stringMatching(/sandbox/) as string });
    expect((failure as Error).message).not.toMatch(/cpusetd: /);
    expect(web.cpuset().cpus).toBe(onlineCpus);
    expect((await readProxyStatus(daemon)).node.sharedPool).toBe(onlineCpus);
    await sharedPod.remove();
  });

  test('a container that restarts keeps its CPUs, an app container takes over those of its init container, and a failed start loses none', async () => {
    await start();
    const pod = await kubelet.runPod({
      containers: [
        { name: 'init', cpus: lastCpu, command: printMaskThenExit },
        pinned,
        { ...pinned, name: 'broken', command: ['/no/such/file'] },
      ],
    });
    const init = await pod.startContainer('init');
    expect(await init.firstLine()).toBe(exclusiveList);
    await init.exitCode(); // the proxy learns the end from this status
    let broken: RunningContainer | undefined;
    const fail = async () => {
      broken = await pod.createContainer('broken'); // fails on CRI-O
      await broken.start(); // fails on containerd
    };
    await expect(fail()).rejects.toThrow(/no such file/);
    await broken?.remove();
    const db = await pod.startContainer('db');
    expect(await db.firstLine()).toBe(exclusiveList);
    await db.stop();
    const again = await pod.startContainer('db');
    expect(await again.firstLine()).toBe(exclusiveList);
    await pod.remove();
    expect((await readProxyStatus(daemon)).node.sharedPool).toBe(onlineCpus);
  });

  test('SIGKILL: no container moves, none can start meanwhile, and no CPU is lost', async () => {
    await start();
    const sharedPod = await kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    await daemon.kill();
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await expect(kubelet.channel.call(methods.version, { version: 'v1' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    daemon.start();
    await daemon.ready();
    await kubelet.channel.call(methods.version, { version: 'v1' }, { waitForReady: true });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    expect(web.cpuset().cpus).toBe('0');
    await pod.remove();
    await waitUntil('the pool to grow', () => web.cpuset().cpus === onlineCpus);
    await sharedPod.remove();
  });

  test.each`
    moment       | when                                                         | made
    ${'request'} | ${'before the runtime receives it'}                          | ${0}
    ${'answer'}  | ${'when the container exists and the kubelet has no answer'} | ${1}
  `(
    'SIGKILL in the middle of a creation, $when: its CPUs are neither lost nor given twice',
    async ({ moment, made }: { moment: 'request' | 'answer'; made: number }) => {
      const folder = mkdtempSync(join(tmpdir(), 'cpusetd-k-'));
      const behind = join(folder, 'runtime.sock');
      let isHeld = true;
      const holds = (path: string) => (isHeld && path.endsWith('/CreateContainer') ? moment : undefined);
      const tap = await openTap(behind, { behind: runtime.criSocket, marks: false, paths, holds });
      try {
        daemon = startDaemon({ args: [...PROXY, '--cri-endpoint', behind] });
        await daemon.ready();
        kubelet = runtime.kubeletAt(daemon.criListen);
        const pod = await kubelet.runPod({ containers: [pinned] });
        const creating = pod.createContainer('db').then(
          () => 'made',
          () => 'failed',
        );
        await daemon.waitForLog((line) => line.msg === 'pinned' && line.container === 'db');
        await waitUntil('the creation to be held', () => tap.held.length > 0);
        await daemon.kill();
        expect(await creating).toBe('failed');
        isHeld = false;
        daemon.start();
        await daemon.ready();
        kubelet = runtime.kubeletAt(daemon.criListen);
        // As the kubelet does before a retry, a container that the runtime has is removed.
        const { containers } = await kubelet.channel.call(methods.listContainers, {
          filter: { id: '', podSandboxId: pod.id, state: undefined, labelSelector: {} },
        });
        expect(containers).toHaveLength(made);
        for (const { id } of containers) await kubelet.channel.call(methods.removeContainer, { containerId: id });
        const db = await pod.startContainer('db');
        expect(await db.firstLine()).toBe(exclusiveList);
        await pod.remove();
        expect((await readProxyStatus(daemon)).node.sharedPool).toBe(onlineCpus);
      } finally {
        tap.close();
        await daemon.dispose();
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

  test('containerd is killed and started: calls fail as the kubelet expects, health changes, and promises stay', async () => {
    await start('--reconcile-period', '500ms');
    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    const mark = daemon.mark();
    await runtime.kill();
    await waitUntil('health to be gone', async () => !(await isHealthy(daemon, 'cri')));
    expect(await isHealthy(daemon, '')).toBe(true);
    await expect(kubelet.channel.call(methods.version, { version: 'v1' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('cpusetd: ') as string,
    });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await runtime.start();
    await daemon.waitForLog('synchronized with the runtime', { from: mark });
    await waitUntil('health to be back', () => isHealthy(daemon, 'cri'));
    await kubelet.channel.call(methods.version, { version: 'v1' }, { waitForReady: true });
    await db.update({ cpuShares: 2048n });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    await pod.remove();
    expect((await readProxyStatus(daemon)).node.sharedPool).toBe(onlineCpus);
  });

  test('a runtime that is away at the start: the proxy listens after the first list of its containers', async () => {
    await runtime.kill();
    daemon = startDaemon({ runtime, args: PROXY });
    await daemon.waitForLog('the runtime could not be asked what it has');
    expect(() => statSync(daemon.criListen)).toThrow(/ENOENT/);
    await runtime.start();
    await daemon.ready();
    kubelet = runtime.kubeletAt(daemon.criListen);
    expect(await kubelet.channel.call(methods.version, { version: 'v1' })).toMatchObject({
      runtimeName: suite === 'crio' ? 'cri-o' : 'containerd',
    });
  });

  defineOnce(suite, () => {
    test('many containers created at once: each is created once with its CPUs, and no temporary one is left', async () => {
      await start();
      const pod = await kubelet.runPod({ containers: [pinned] });
      await pod.startContainer('db');
      const many = Array.from({ length: 50 }, (_, i) => ({ ...shared, name: `c${i}` }));
      const crowd = await kubelet.runPod({ containers: many });
      const made = await Promise.all(many.map(({ name }) => crowd.createContainer(name)));
      expect(new Set(made.map(({ id }) => id)).size).toBe(50);
      const { containers } = await readProxyStatus(daemon);
      const promised = new Map(containers.map(({ id, promise }) => [id, promise?.cpus]));
      expect(made.map(({ id }) => promised.get(id))).toEqual(made.map(() => '0'));
      expect(containers).toHaveLength(51);
      await crowd.remove();
      await pod.remove();
      const after = await readProxyStatus(daemon);
      expect([after.containers.length, after.idle.length, after.node.sharedPool]).toEqual([0, 0, onlineCpus]);
    });
  });

  test('exec, stats, log paths, URLs, images and events pass unchanged', async () => {
    await start();
    const events: ContainerEventResponse[] = [];
    const stopEvents = streamEvents(daemon.criListen, (event) => events.push(event));
    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    expect(await db.exec('echo', 'hello')).toBe('hello\n');
    expect((await db.status()).logPath).toContain('db/0.log');
    const { url } = await kubelet.channel.call(methods.exec, {
      containerId: db.id,
      cmd: ['true'],
      tty: false,
      stdin: false,
      stdout: true,
      stderr: false,
    });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/exec\//);
    const { stats } = await kubelet.channel.call(methods.containerStats, { containerId: db.id });
    expect(stats?.attributes?.id).toBe(db.id);
    await db.stop();
    await db.remove(); // CRI-O announces no deletion of a container that goes with its pod
    await pod.remove();

    const proxied = openChannel(daemon.criListen, ImageServiceDefinition.fullName);
    const direct = openChannel(runtime.criSocket, ImageServiceDefinition.fullName);
    const { listImages, imageStatus } = ImageServiceDefinition.methods;
    const image = { image: runtime.image, annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' };
    // containerd lists images in any order.
    const listSorted = async (channel: Channel) =>
      (await channel.call(listImages, { filter: undefined })).images.sort((a, b) => a.id.localeCompare(b.id));
    expect(await listSorted(proxied)).toEqual(await listSorted(direct));
    const shown = await proxied.call(imageStatus, { image, verbose: true });
    expect(shown).toEqual(await direct.call(imageStatus, { image, verbose: true }));
    expect(shown.image?.repoTags).toContain(runtime.image);
    proxied.close();
    direct.close();
    await waitUntil('creation, start, stop and deletion to be announced', () => {
      const seen = events.filter(({ containerId }) => containerId === db.id);
      return announced.every((type) => seen.some(({ containerEventType }) => containerEventType === type));
    });
    await stopEvents();
  });

  test('without cgroup writes: the runtime moves shared containers before the creation goes on', async () => {
    await start('--cgroup-writes', 'off');
    const sharedPod = await kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    const pod = await kubelet.runPod({ containers: [pinned] });
    const db = await pod.createContainer('db');
    expect(web.cpuset().cpus).toBe('0');
    await db.start();
    expect(await db.firstLine()).toBe(exclusiveList);
    await pod.remove();
    await waitUntil('the pool to grow again', () => web.cpuset().cpus === onlineCpus);
    await sharedPod.remove();
  });

  defineOnce(suite, () => {
    test('SIGTERM: calls in flight end, the socket is removed, and the status is 0', async () => {
      await start();
      const pod = await kubelet.runPod({ containers: [pinned] });
      const db = await pod.startContainer('db');
      const slow = await db.execHeld();
      const stopping = daemon.stop('SIGTERM');
      await daemon.waitForLog('stopping');
      slow.finish();
      expect(await slow.output).toBe('done\n');
      expect(await stopping).toBe(0);
      expect(() => statSync(daemon.criListen)).toThrow(/ENOENT/);
      await runtime.kubelet.removePod(pod.id);
    });

    test('a socket on which another process answers: it is not removed', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'cpusetd-p-'));
      const criListen = join(folder, 'cri.sock');
      const answers = createServer((socket) => socket.on('error', () => undefined).end('here')).listen(criListen);
      await once(answers, 'listening');
      const refused = startDaemon({ runtime, args: PROXY, criListen });
      try {
        await refused.waitForLog((line) => /another process answers there/.test(JSON.stringify(line)));
        expect(await refused.ended()).toBe(1);
        const [data] = (await once(connect(criListen), 'data')) as [Buffer];
        expect(data.toString()).toBe('here');
      } finally {
        await refused.dispose();
        answers.close();
        rmSync(folder, { recursive: true });
      }
    });

    test('a second daemon in front of the same runtime: it is refused, and the first goes on', async () => {
      await start();
      const second = startDaemon({ runtime, args: PROXY });
      try {
        await second.waitForLog((line) => /is locked by process \d+/.test(JSON.stringify(line)));
        expect(await second.ended()).toBe(1);
      } finally {
        await second.dispose();
      }
      await kubelet.channel.call(methods.version, { version: 'v1' });
    });

    test('an upgrade with a passed socket: no call is lost, and the one in flight has its answer', async () => {
      const supervisor = await superviseWithSocket(runtime);
      try {
        await supervisor.waitForLog('the CRI proxy listens');
        const kubelet = runtime.kubeletAt(supervisor.socket);
        const pod = await kubelet.runPod({ containers: [pinned] });
        const db = await pod.startContainer('db');
        const inFlight = await db.execHeld();

        const mark = supervisor.log.lines.length;
        process.kill(await supervisor.daemonPid(), 'SIGTERM');
        await supervisor.waitForLog('stopping', mark);
        let calls = 0;
        const call = async () => {
          await kubelet.channel.call(methods.version, { version: 'v1' }); // throws when one is lost
          calls++;
        };
        const first = call(); // while the old daemon waits for the call in flight
        inFlight.finish();
        await first;
        while (!supervisor.log.lines.slice(mark).some(({ msg }) => msg === 'the CRI proxy listens')) await call();
        expect(calls).toBeGreaterThan(0);
        expect(await inFlight.output).toBe('done\n');
        expect(db.cpuset().cpus).toBe(exclusiveList);
        await pod.remove();
      } finally {
        await supervisor.stop();
      }
    });
  });
});

onRuntimes(['sid', 'crio'], 'the state of one mode in the other mode', (suite) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());

  test('a change from plugin to proxy and back: no container moves, and those that end later are released', async () => {
    const asPlugin = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    const daemons = [asPlugin];
    try {
      await asPlugin.ready();
      const sharedPod = await runtime.kubelet.runPod({ containers: [shared] });
      const web = await sharedPod.startContainer('web');
      const pod = await runtime.kubelet.runPod({ containers: [pinned] });
      const db = await pod.startContainer('db');
      expect(await asPlugin.stop('SIGTERM')).toBe(0);

      const asProxy = startDaemon({ runtime, args: PROXY, stateDir: asPlugin.stateDir });
      daemons.push(asProxy);
      await asProxy.ready();
      expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual([exclusiveList, '0']);
      const kubelet = runtime.kubeletAt(asProxy.criListen);
      const status = await readProxyStatus(asProxy);
      expect(status.containers.find(({ id }) => id === db.id)?.promise?.cpus).toBe(exclusiveList);
      const latePod = await kubelet.runPod({ containers: [shared] });
      const late = await latePod.startContainer('web');
      expect(await late.firstLine()).toBe('0');
      expect(await asProxy.stop('SIGTERM')).toBe(0);

      const again = startDaemon({ runtime, args: ['--reserved-cpus', '0'], stateDir: asPlugin.stateDir });
      daemons.push(again);
      await again.ready();
      expect([db, web, late].map((container) => container.cpuset().cpus)).toEqual([exclusiveList, '0', '0']);
      await pod.remove();
      await waitUntil('the pool to grow', () => late.cpuset().cpus === onlineCpus && web.cpuset().cpus === onlineCpus);
      await runtime.kubelet.removePod(latePod.id);
      await sharedPod.remove();
    } finally {
      for (const daemon of daemons.reverse()) await daemon.dispose();
    }
  });
});
