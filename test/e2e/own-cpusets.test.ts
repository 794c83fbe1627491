import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  cpusetDirOf,
  type Daemon,
  lastCpu,
  onlineCpus,
  onRuntimes,
  poll,
  type Runtime,
  startDaemon,
  startRuntime,
} from './rig';
import { defineUnless } from '../support/not-run';

jest.setTimeout(300_000);

/** On version 2 the kernel keeps what each cgroup has of its own. */
const otherVersion = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 'cgroup version 1 is needed' : undefined;

/** Tests on one runtime; `start` starts the daemon of a test. */
function define(title: string, tests: (runtime: () => Runtime, start: () => Promise<Daemon>) => void): void {
  defineUnless(otherVersion, () =>
    onRuntimes(['sid'], title, (suite) => {
      let runtime: Runtime;
      let daemon: Daemon | undefined;
      beforeAll(async () => {
        runtime = await startRuntime({ suite, nri: true });
      });
      afterAll(() => runtime?.stop());
      afterEach(() => daemon?.dispose());
      const start = async (): Promise<Daemon> => {
        daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--reconcile-period', '1h'] });
        await daemon.ready();
        return daemon;
      };
      tests(() => runtime, start);
    }),
  );
}

define('cpusets that cpusetd did not make', (runtime, start) => {
  const shared = { containers: [{ name: 'web', cpuRequestMilli: 100 }] };
  const pinned = { containers: [{ name: 'db', cpus: lastCpu }] };

  test.each([
    ['', false],
    [', and cpusetd is killed and started again meanwhile', true],
  ])('cgroups in a container have their own again after an exclusive pod came and went%s', async (_name, isKilled) => {
    const daemon = await start();
    const sharedPod = await runtime().kubelet.runPod(shared);
    const web = await sharedPod.startContainer('web');
    const dir = cpusetDirOf(web.cgroupPath);
    const own = { a: '0', b: `${lastCpu}`, all: onlineCpus };
    const lists = () =>
        Object.fromEntries(Object.keys(own).map((name) => [name, readFileSync(join(dir, name, 'cpuset.cpus'), 'utf8').trim()])); // prettier-ignore
    for (const [name, list] of Object.entries(own)) {
      mkdirSync(join(dir, name));
      writeFileSync(join(dir, name, 'cpuset.mems'), '0');
      writeFileSync(join(dir, name, 'cpuset.cpus'), list);
    }
    const pod = await runtime().kubelet.runPod(pinned);
    await pod.startContainer('db');
    expect(web.cpuset().cpus).toBe('0');
    expect(lists()).toEqual({ a: '0', b: '0', all: '0' });
    if (isKilled) {
      await poll('the note', () => (existsSync(join(daemon.stateDir, 'taken-cpus.json')) ? true : undefined));
      await daemon.kill();
      daemon.start();
      await daemon.ready();
    }
    await pod.remove();
    await poll('the pool to be whole again', () => (web.cpuset().cpus === onlineCpus ? true : undefined));
    expect(lists()).toEqual(own);
    for (const name of Object.keys(own)) rmdirSync(join(dir, name));
    await sharedPod.remove();
  });
});

define('the cgroup of an operator above those of Kubernetes', (runtime, start) => {
  test('keeps the CPUs that it was given, and what the kubelet makes in it too', async () => {
    const above = cpusetDirOf(runtime().cgroupRoot);
    const listOf = (below: string): string => readFileSync(join(above, below, 'cpuset.cpus'), 'utf8').trim();
    mkdirSync(above, { recursive: true });
    writeFileSync(join(above, 'cpuset.mems'), '0');
    writeFileSync(join(above, 'cpuset.cpus'), '0');
    const daemon = await start();
    // The runtime waits for cpusetd before it goes on.
    const pod = await runtime().kubelet.runPod({ containers: [{ name: 'web', cpuRequestMilli: 100 }] });
    expect(['', 'kubepods', 'kubepods/burstable'].map(listOf)).toEqual(['0', '0', '0']);
    expect(daemon.log.lines.filter(({ msg }) => msg?.includes('had been offline'))).toEqual([]);
    await pod.remove();
  });
});
