import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { RuntimeServiceDefinition } from '../gen/cri/v1/cri';
import {
  askDaemon,
  type ContainerSpec,
  type Daemon,
  defineOnce,
  exclusiveList,
  type Kubelet,
  lastCpu,
  onEachRuntime,
  onlineCpus,
  poll,
  type Runtime,
  type RunningContainer,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const { methods } = RuntimeServiceDefinition;

const file = '/etc/cpusetd/cpus.json';
const on = { 'cpusetd.io/cpu-identity': 'on' };

/** Prints its variables and the file, as one line, by its first instructions. */
const printFacts = [
  'if [ -e /etc/cpusetd ]; then text=; while read -r line; do text="$text$line"; done < /etc/cpusetd/cpus.json; else text=none; fi',
  'echo "$CPUSETD_CPUS_FILE $CPUSETD_CPUS $text"',
  'exec sleep 2147483647',
].join('; ');
const command = ['sh', '-c', printFacts];
const shared: ContainerSpec = { name: 'web', cpuRequestMilli: 100, command };
const pinned: ContainerSpec = { name: 'db', cpus: lastCpu, command };

/** The file as the container's first process sees it. */
const read = (container: RunningContainer): Record<string, unknown> =>
  JSON.parse(readFileSync(`/proc/${container.pids()[0]}/root${file}`, 'utf8')) as Record<string, unknown>;

const untilWritten = (container: RunningContainer, cpus: string) =>
  poll(`the container to be told ${cpus}`, () => {
    const facts = read(container);
    return facts['cpus'] === cpus ? facts : undefined;
  });

onEachRuntime('CPU identity', (suite) => {
  const modes = [
    { mode: 'nri', args: ['--reserved-cpus', '0'] },
    { mode: 'cri-proxy', args: ['--mode', 'cri-proxy', '--reserved-cpus', '0'] },
  ];
  // A proxied request has mounts and variables as a kubelet's has: it is the same to each version of containerd.
  const isProxied = suite === 'sid' || suite === 'crio';
  describe.each(isProxied ? modes : modes.slice(0, 1))('$mode', ({ mode, args: modeArgs }) => {
    let runtime: Runtime;
    let daemon: Daemon;
    let kubelet: Kubelet;
    /** The private root of the runtime has the host's /dev: files there have the same path for both. */
    let identityDir: string;
    beforeAll(async () => {
      runtime = await startRuntime({ suite, nri: mode === 'nri' });
    });
    afterAll(() => runtime?.stop());
    beforeEach(() => {
      identityDir = mkdtempSync('/dev/shm/cpusetd-identity-');
    });
    afterEach(async () => {
      await runtime.kubelet.removePods();
      await daemon?.dispose();
      rmSync(identityDir, { recursive: true, force: true });
    });

    /** Those of containers; marks of cpusetd beside them begin with a dot. */
    const directories = (): string[] => readdirSync(identityDir).filter((name) => !name.startsWith('.'));
    const start = async (...args: string[]): Promise<void> => {
      const period = ['--reconcile-period', '1s'];
      daemon = startDaemon({ runtime, args: [...modeArgs, ...period, '--cpu-identity-dir', identityDir, ...args] });
      await connect();
    };
    const connect = async (): Promise<void> => {
      await daemon.ready();
      kubelet = mode === 'nri' ? runtime.kubelet : runtime.kubeletAt(daemon.criListen);
    };
    const shownInStatus = async (): Promise<string[]> => {
      const { containers } = JSON.parse(await askDaemon(daemon, 'status', '-o', 'json')) as {
        containers: { container: string; cpuIdentity?: boolean }[];
      };
      return containers.flatMap(({ container, cpuIdentity }) => (cpuIdentity ? [container] : [])).sort();
    };

    test('a container reads its CPUs by its first instruction, and is told of each change, also after SIGKILL', async () => {
      await start('--cpu-identity', 'on');
      const early = await kubelet.runPod({ containers: [shared], annotations: on });
      const web = await early.startContainer('web');
      const first = await web.firstLine();
      expect(first.startsWith(`${file} ${onlineCpus} {`)).toBe(true);
      expect(read(web)).toEqual({
        version: 1,
        kind: 'shared',
        cpus: onlineCpus,
        numaNodes: expect.stringMatching(/^\d/),
        since: expect.stringMatching(/^20.*Z$/),
      });

      const plain = await kubelet.runPod({ containers: [shared] });
      expect(await (await plain.startContainer('web')).firstLine()).toBe('  none');

      // Nothing can be written there, and no name of another container is seen.
      await expect(web.exec('sh', '-c', `echo x > ${file}`)).rejects.toThrow(/Read-only file system/);
      expect(await web.exec('ls', '-A', '/etc/cpusetd')).toBe('cpus.json\n');
      const mounts = await web.exec('grep', ' /etc/cpusetd ', '/proc/mounts');
      expect(mounts.split(' ')[3]!.split(',')).toEqual(
        expect.arrayContaining(mode === 'nri' ? ['ro', 'nosuid', 'nodev', 'noexec'] : ['ro']),
      );

      const pod = await kubelet.runPod({ containers: [pinned], annotations: on });
      const db = await pod.startContainer('db');
      const [path, cpus, text] = /^(\S+) (\S+) (.*)$/.exec(await db.firstLine())!.slice(1);
      expect([path, cpus]).toEqual([file, exclusiveList]);
      expect(JSON.parse(text!)).toMatchObject({ version: 1, kind: 'static', cpus: exclusiveList });
      expect(await untilWritten(web, '0')).toMatchObject({ kind: 'shared' });
      expect(web.cpuset().cpus).toBe('0');
      expect(await shownInStatus()).toEqual(['db', 'web']);

      // Events without cpusetd are reported when it is back.
      await daemon.kill();
      await runtime.kubelet.removePod(pod.id);
      expect(read(web)).toMatchObject({ cpus: '0' });
      daemon.start();
      await connect();
      await untilWritten(web, onlineCpus);
      await waitUntil('the directory of the pod that is gone to go', () => directories().length === 1);
      expect(await shownInStatus()).toEqual(['web']);

      // A container that is created again gets the file anew.
      await kubelet.channel.call(methods.stopContainer, { containerId: web.id, timeout: 0n }, { waitForReady: true });
      await kubelet.channel.call(methods.removeContainer, { containerId: web.id });
      const again = await early.through(kubelet).startContainer('web');
      expect((await again.firstLine()).startsWith(`${file} ${onlineCpus} {`)).toBe(true);
      expect(read(again)).toMatchObject({ cpus: onlineCpus });
      await kubelet.removePod(early.id);
      await waitUntil('all directories to go', () => directories().length === 0);
    });

    test('variables and a volume of the pod at the same places are replaced, and others stay', async () => {
      const own = mkdtempSync('/dev/shm/cpusetd-own-');
      try {
        await start('--cpu-identity', 'on');
        const spec: ContainerSpec = {
          ...shared,
          env: { CPUSETD_CPUS: '4096', CPUSETD_CPUS_FILE: '/etc/passwd', OTHER: 'kept' },
          mounts: [{ hostPath: own, containerPath: '/etc/cpusetd' }],
        };
        const pod = await kubelet.runPod({ containers: [spec], annotations: on });
        const web = await pod.startContainer('web');
        expect((await web.firstLine()).startsWith(`${file} ${onlineCpus} {`)).toBe(true);
        expect(await web.exec('sh', '-c', 'echo "$OTHER"')).toBe('kept\n');
        // A process that watches the directory sees this: one file arrives, complete.
        const pid = web.pids()[0]!;
        const watcher = watch(`/proc/${pid}/root/etc/cpusetd`);
        const seen: string[] = [];
        watcher.on('change', (_kind, name) => seen.push(String(name)));
        const changed = once(watcher, 'change');
        const other = await kubelet.runPod({ containers: [pinned] });
        await other.startContainer('db');
        await changed;
        expect(read(web)).toMatchObject({ cpus: '0' });
        watcher.close();
        expect(new Set(seen)).toEqual(new Set(['cpus.json']));
      } finally {
        rmSync(own, { recursive: true });
      }
    });

    defineOnce(suite, () => {
      test('containers that do not ask, or whose operator offers it no more, get nothing; those that have a file keep it true', async () => {
        await start('--cpu-identity', 'on');
        const pod = await kubelet.runPod({ containers: [shared], annotations: on });
        const web = await pod.startContainer('web');
        await web.firstLine();
        expect(await daemon.stop()).toBe(0);
        await daemon.dispose();

        await start('--cpu-identity', 'off');
        const later = await kubelet.runPod({ containers: [pinned], annotations: on });
        expect(await (await later.startContainer('db')).firstLine()).toBe('  none');
        expect(await untilWritten(web, '0')).toMatchObject({ kind: 'shared' });
        expect(directories()).toEqual([`${pod.id}.web`]);
      });
    });
  });
});
