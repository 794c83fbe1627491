import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  askDaemon,
  type Daemon,
  exclusiveList,
  findFreePort,
  isHealthy,
  onlineCpus,
  readStatus,
  requireRuntime,
  type Runtime,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';
import { projectRoot } from './rig/project-root';
import { pinned, PROXY, readProxyStatus, shared } from './proxy-node';

// The promise in short, on each Node that is supported: created pinned, repaired, kept over a crash, shown; as plugin
// and as proxy.

jest.setTimeout(300_000);

const { engines } = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as {
  readonly engines: { readonly node: string };
};
const majors = ['20', '22', '24'];

/** The program of a Node of this line, fetched once. */
const nodeOf = (major: string): string =>
  execFileSync(process.execPath, [join(projectRoot(), 'scripts/release/node-programs.mjs'), major], {
    encoding: 'utf8',
    timeout: 250_000,
  }).trim();

test('the oldest is the one that package.json asks for', () => {
  expect(engines.node).toBe(`>=${majors[0]}`);
});

requireRuntime('sid')('on the containerd of Debian sid', () => {
  let runtime: Runtime;
  let daemon: Daemon | undefined;
  beforeAll(async () => {
    runtime = await startRuntime({ suite: 'sid', nri: true });
  });
  afterEach(async () => {
    await daemon?.dispose();
    await runtime.kubelet.removePods();
  });
  afterAll(() => runtime?.stop());

  const start = async (node: string, ...args: string[]): Promise<Daemon> => {
    daemon = startDaemon({ runtime, args, node });
    await daemon.ready();
    expect(readlinkSync(`/proc/${daemon.pid}/exe`)).toBe(node);
    return daemon;
  };

  describe.each(majors)('Node %s', (major) => {
    let node: string;
    beforeAll(() => {
      node = nodeOf(major);
      expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(new RegExp(`^v${major}\\.`));
    });

    test('plugin: a container is created on its CPUs; a drift is repaired; a crash changes nothing; status and metrics tell', async () => {
      const port = await findFreePort();
      const own = ['--reserved-cpus', '0', '--reconcile-period', '1h', '--metrics-address', `127.0.0.1:${port}`];
      const plugin = await start(node, ...own);
      const sharedPod = await runtime.kubelet.runPod({ containers: [shared] });
      const web = await sharedPod.startContainer('web');
      const pod = await runtime.kubelet.runPod({ containers: [pinned] });
      const db = await pod.startContainer('db');
      expect(await db.firstLine()).toBe(exclusiveList);
      expect(web.cpuset().cpus).toBe('0');

      db.writeCpuset('0');
      await plugin.waitForLog('repaired');
      expect(db.cpuset().cpus).toBe(exclusiveList);

      await plugin.kill();
      plugin.start();
      await plugin.ready();
      expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual([exclusiveList, '0']);
      const { containers } = await readStatus(plugin);
      const shown = containers.find(({ id }) => id === db.id)!;
      expect(shown).toMatchObject({ placement: 'exclusive', promise: { cpus: exclusiveList } });
      expect(await isHealthy(plugin, 'nri')).toBe(true);
      expect(await askDaemon(plugin, 'explain', `${pod.namespace}/${pod.name}`)).toContain(exclusiveList);
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(metrics).toMatch(/^cpusetd_container_verdicts\{verdict="kept"\} [1-9]/m);

      await pod.remove();
      await waitUntil('the CPU is shared again', async () => web.cpuset().cpus === onlineCpus);
      expect(await plugin.stop()).toBe(0);
    });

    test('CRI proxy: a container is created on its CPUs, and kept over a restart', async () => {
      const proxy = await start(node, ...PROXY);
      const kubelet = runtime.kubeletAt(proxy.criListen);
      const pod = await kubelet.runPod({ containers: [pinned] });
      const db = await pod.startContainer('db');
      expect(await db.firstLine()).toBe(exclusiveList);

      await proxy.kill();
      proxy.start();
      await proxy.ready();
      expect(db.cpuset().cpus).toBe(exclusiveList);
      const { containers } = await readProxyStatus(proxy);
      expect(containers).toMatchObject([{ container: 'db', placement: 'exclusive', promise: { cpus: exclusiveList } }]);
      await pod.remove();
      expect(await proxy.stop()).toBe(0);
    });
  });
});
