import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineUnless } from '../support/not-run';
import { waitUntil } from '../support/wait-until';
import {
  askDaemon,
  cpusetDirOf,
  type Daemon,
  exclusiveList,
  inCgroup,
  onlineCpus,
  onRuntimes,
  poll,
  printMaskThenSleep,
  readStatus,
  type Runtime,
  startDaemon,
  startRuntime,
} from './rig';

jest.setTimeout(300_000);

const isV1 = existsSync('/sys/fs/cgroup/cpuset/cpuset.cpus');
const notHere = isV1 ? undefined : 'cgroup version 2: the claim cpus-barred of test/machines runs there';

/** As an operator makes a cgroup for a part of the node: it has CPU 0, and sysfs shows all. */
function makeConfined(cgroup: string): void {
  mkdirSync(cpusetDirOf(cgroup), { recursive: true });
  writeFileSync(join(cpusetDirOf(cgroup), 'cpuset.mems'), '0');
  writeFileSync(join(cpusetDirOf(cgroup), 'cpuset.cpus'), '0');
}

/** True when the cgroup was removed; the kernel refuses as long as it has a process. */
function removeEmpty(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
    throw error;
  }
}

const cpusOf = (cgroup: string): string => readFileSync(join(cpusetDirOf(cgroup), 'cpuset.cpus'), 'utf8').trim();

defineUnless(notHere, () => {
  onRuntimes(['sid'], 'a cgroup with CPU 0 alone, in which the node is', (suite) => {
    let runtime: Runtime;
    let daemon: Daemon;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'confined-'));
      runtime = await startRuntime({ suite, nri: true });
      makeConfined(runtime.cgroupRoot);
      const kubelet = { kind: 'KubeletConfiguration', cgroupRoot: runtime.cgroupRoot, cgroupDriver: 'cgroupfs' };
      writeFileSync(join(folder, 'kubelet.yaml'), JSON.stringify(kubelet));
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true, force: true });
      await runtime?.stop();
    });
    afterEach(() => daemon?.dispose());

    const barred = () => ({ cpus: exclusiveList, by: runtime.cgroupRoot });
    const start = async (...args: string[]): Promise<void> => {
      daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', ...args] });
      await daemon.ready();
    };
    /** A shared container starts, and a request for an exclusive CPU is refused with the reason. */
    const expectConfined = async (): Promise<void> => {
      const besteffort = await runtime.kubelet.runPod({ containers: [{ name: 'web' }] });
      const web = await besteffort.startContainer('web');
      expect(web.cpuset()).toMatchObject({ cpus: '0', effectiveCpus: '0' });
      const guaranteed = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: 1 }] });
      await expect(guaranteed.startContainer('db')).rejects.toThrow(
        new RegExp(`asked for 1 exclusive CPU.* online, but the cgroup ${runtime.cgroupRoot} has 0 only`),
      );
      const { node, containers } = await readStatus(daemon);
      expect(node).toMatchObject({ online: onlineCpus, barred: barred(), sharedPool: '0', free: '' });
      expect(new Set(containers.map(({ promise }) => promise?.cpus))).toEqual(new Set(['0'])); // pause containers too
      expect([runtime.cgroupRoot, `${runtime.cgroupRoot}/kubepods`].map(cpusOf)).toEqual(['0', '0']);
      await poll('the alarm', async () =>
        (await readStatus(daemon)).node.alarms.find(({ kind }) => kind === 'cpus-barred'),
      );
      expect(await askDaemon(daemon, 'topology')).toMatch(new RegExp(`-  barred +${exclusiveList} +not in the cgroup`));
      for (const pod of [besteffort, guaranteed]) await pod.remove();
    };

    test('known from the configuration of the kubelet, before there is any pod', async () => {
      await start('--kubelet-config', join(folder, 'kubelet.yaml'));
      expect((await readStatus(daemon)).node).toMatchObject({ barred: barred(), free: '' });
      await expectConfined();
    });

    test('known from the first pod', async () => {
      await start();
      await expectConfined();
    });
  });

  onRuntimes(['sid'], 'a cgroup namespace with CPU 0 alone, in which runtime and service are', (suite) => {
    const node = `/cpusetd-node-${process.pid}`;
    let runtime: Runtime;
    let daemon: Daemon;
    beforeAll(async () => {
      makeConfined(node);
      runtime = await startRuntime({ suite, nri: true, launcher: inCgroup(node) });
      daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'], launcher: inCgroup(node) });
      await daemon.ready();
    });
    afterAll(async () => {
      await daemon?.dispose();
      await runtime?.stop();
      // The kernel keeps a cgroup some milliseconds after the end of its last process.
      await waitUntil('the cgroup to be empty', () => removeEmpty(cpusetDirOf(node)));
    });

    test('shared containers start and exclusive ones are refused, until the operator gives it more CPUs', async () => {
      const web = await runtime.kubelet.runPod({ containers: [{ name: 'web', command: printMaskThenSleep }] });
      const shared = await web.startContainer('web');
      expect(await shared.firstLine()).toBe('0');
      const db = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: 1, command: printMaskThenSleep }] });
      await expect(db.startContainer('db')).rejects.toThrow(
        /asked for 1 exclusive CPU.* online, but the cgroup \/ has 0 only/,
      );
      expect((await readStatus(daemon)).node).toMatchObject({
        online: onlineCpus,
        sharedPool: '0',
        free: '',
        barred: { cpus: exclusiveList, by: '/' },
      });
      const podsRoot = `${node}${runtime.cgroupRoot}/kubepods`;
      expect([node, podsRoot].map(cpusOf)).toEqual(['0', '0']);

      // Cgroups of version 1 get nothing by themselves, so the operator gives it to each, from the outermost that the
      // status names.
      const lacking = [
        '/',
        runtime.cgroupRoot,
        `${runtime.cgroupRoot}/kubepods`,
        `${runtime.cgroupRoot}/kubepods/besteffort`,
      ];
      for (const cgroup of lacking) {
        await waitUntil(`${cgroup} to be named`, async () => (await readStatus(daemon)).node.barred?.by === cgroup);
        writeFileSync(join(cpusetDirOf(node + cgroup), 'cpuset.cpus'), onlineCpus);
      }
      await waitUntil('the CPUs to be free', async () => (await readStatus(daemon)).node.free === exclusiveList);
      const exclusive = await db.startContainer('db');
      expect(await exclusive.firstLine()).toBe(exclusiveList);
      expect(cpusOf(node + exclusive.cgroupPath)).toBe(exclusiveList);
      await waitUntil('all promises to be read back', async () => {
        const { containers } = await readStatus(daemon);
        return containers.length === 4 && containers.every(({ verdict }) => verdict.kind === 'kept');
      });
      for (const pod of [web, db]) await pod.remove();
    });
  });
});
