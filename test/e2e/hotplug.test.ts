import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTree } from '../support/sysfs-tree';
import {
  type Daemon,
  lastCpu,
  onlineCpus,
  poll,
  readStatus,
  replaceFile,
  onRuntimes,
  type Runtime,
  startDaemon,
  startRuntime,
} from './rig';

jest.setTimeout(300_000);

const listTo = (last: number): string => (last === 0 ? '0' : `0-${last}`);
const exclusiveTo = (last: number): string => (last === 1 ? '1' : `1-${last}`);

/** The sysfs of this machine as plain files, so that a CPU can go offline only for the daemon. */
function describeMachine(): Record<string, string> {
  const files: Record<string, string> = {
    'node/online': '0',
    'node/node0/cpulist': onlineCpus,
    'node/node0/distance': '10',
    'node/node0/meminfo': 'Node 0 MemTotal:  1048576 kB',
  };
  for (let cpu = 0; cpu <= lastCpu; cpu++) {
    files[`cpu/cpu${cpu}/topology/core_cpus_list`] = `${cpu}`;
    files[`cpu/cpu${cpu}/topology/physical_package_id`] = '0';
  }
  return Object.fromEntries(
    Object.entries({ ...files, 'cpu/online': onlineCpus }).map(([path, text]) => [
      `/sys/devices/system/${path}`,
      `${text}\n`,
    ]),
  );
}

// The kernel's own changes of cgroups are tested in test/machines.
onRuntimes(['sid'], 'a CPU goes offline and comes back', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let folder: string;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    folder = mkdtempSync(join(tmpdir(), 'sysfs-'));
    writeTree(folder, describeMachine());
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await runtime?.stop();
  });
  afterEach(() => daemon?.dispose());

  const setOnline = (list: string) => replaceFile(join(folder, 'sys/devices/system/cpu/online'), `${list}\n`);

  test('it leaves pool and promises, no container gets it, and its owner has it again afterwards, without a restart', async () => {
    const args = ['--reserved-cpus', '0', '--sysfs-root', join(folder, 'sys'), '--reconcile-period', '1h'];
    daemon = startDaemon({ runtime, args });
    await daemon.ready();
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: lastCpu }] });
    const db = await pod.startContainer('db');
    const sharedPod = await runtime.kubelet.runPod({ containers: [{ name: 'web', cpuRequestMilli: 100 }] });
    const web = await sharedPod.startContainer('web');
    const becomes = (kind: string) =>
      poll(`the verdict ${kind}`, async () => {
        const { verdict } = (await readStatus(daemon)).containers.find(({ id }) => id === db.id)!;
        return verdict.kind === kind ? verdict : undefined;
      });

    setOnline(listTo(lastCpu - 1));
    await daemon.waitForLog((line) => line.msg === 'online CPUs changed' && line['left'] === `${lastCpu}`);
    await poll('the container to leave the CPU', () =>
      db.cpuset().cpus === (lastCpu === 1 ? '0' : exclusiveTo(lastCpu - 1)) ? true : undefined,
    );
    expect(web.cpuset().cpus).toBe('0');
    expect((await readStatus(daemon)).node).toMatchObject({
      online: listTo(lastCpu - 1),
      reserved: '0',
      sharedPool: '0',
      free: '',
    });
    expect((await becomes('violated')).reason).toBe(`promised CPUs ${lastCpu} are offline`);
    const late = await runtime.kubelet.runPod({ containers: [{ name: 'late', cpus: 1 }] });
    await expect(late.startContainer('late')).rejects.toThrow(/asked for 1 exclusive CPU/);

    setOnline(onlineCpus);
    await daemon.waitForLog((line) => line.msg === 'online CPUs changed' && line['returned'] === `${lastCpu}`);
    await poll('the container to have it again', () => (db.cpuset().cpus === exclusiveTo(lastCpu) ? true : undefined));
    expect(web.cpuset().cpus).toBe('0');
    await becomes('kept');
    for (const each of [late, pod, sharedPod]) await each.remove();
  });
});
