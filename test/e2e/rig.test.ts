import { existsSync } from 'node:fs';
import { createCriClient } from '../../src/cri/client';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import {
  cpusetDirOf,
  onlineCpus,
  onRuntimes,
  poll,
  printMaskThenExit,
  printMaskThenSleep,
  type Runtime,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const machine = parseCpuList(onlineCpus);

onRuntimes(['trixie', 'sid', 'crio'], 'a pod without cpusetd', (suite) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: false });
    console.info(`${runtime.label}, ready after ${runtime.startedInMs} ms`);
  });
  afterAll(() => runtime.stop());

  test('runs on all CPUs, is in the cgroup that its class says, and is gone when removed', async () => {
    const pod = await runtime.kubelet.runPod({
      containers: [{ name: 'main', cpus: 1, command: printMaskThenSleep }],
    });
    expect(pod.cgroupParent).toBe(`${runtime.cgroupRoot}/kubepods/pod${pod.uid}`);

    const container = await pod.createContainer('main');
    // CRI-O lets runc create the container in CreateContainer, containerd in StartContainer.
    if (suite === 'crio') expect(container.cpuset().effectiveCpus).toBe(onlineCpus);
    else expect(() => container.cpuset()).toThrow('ENOENT');
    await container.start();
    expect(parseCpuList(await container.firstLine())).toEqual(machine);
    expect(parseCpuList(container.cpuset().effectiveCpus)).toEqual(machine);

    await container.stop();
    await container.remove();
    await pod.remove();
    await waitUntil('its cgroup to be gone', () => !existsSync(cpusetDirOf(container.cgroupPath)));
  });

  test('a container ends by itself, is created again in its place, and its next life has a log of its own', async () => {
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'job', command: printMaskThenExit }] });
    expect(pod.cgroupParent).toContain('/kubepods/besteffort/');
    const first = await pod.startContainer('job');
    expect(await first.exitCode()).toBe(0);
    const second = await pod.startContainer('job');
    expect(await second.exitCode()).toBe(0);
    expect(second.logFile).not.toBe(first.logFile);
    // The runtime may report the end before it has written the last lines.
    expect(await second.firstLine()).toBe(await first.firstLine());
    expect([first.lines().length, second.lines().length]).toEqual([1, 1]);
    await pod.remove();
  });

  test("the daemon's CRI client sees cgroup, numbers and phase as they are, and its update reaches the kernel", async () => {
    const client = createCriClient(runtime.criSocket);
    try {
      expect((await client.version()).name).toBe(suite === 'crio' ? 'cri-o' : 'containerd');
      const pod = await runtime.kubelet.runPod({
        namespace: 'shop',
        name: 'cart',
        annotations: { 'cpusetd.io/policy': 'static' },
        containers: [{ name: 'main', cpuRequestMilli: 250, cpuLimitMilli: 500, memoryLimitBytes: 1 << 26 }],
      });
      const container = await pod.startContainer('main');

      const { pods, containers } = await client.readNode();
      expect(pods.find(({ sandboxId }) => sandboxId === pod.id)).toMatchObject({
        uid: pod.uid,
        namespace: 'shop',
        name: 'cart',
        annotations: { 'cpusetd.io/policy': 'static' },
        cgroupParent: `${runtime.cgroupRoot}/kubepods/burstable/pod${pod.uid}`,
      });
      expect(containers.find(({ id }) => id === container.id)).toMatchObject({
        sandboxId: pod.id,
        name: 'main',
        phase: 'running',
        cgroupsPath: container.cgroupPath,
        resources: { shares: 256, quotaUs: 50_000, periodUs: 100_000, memoryLimitBytes: 1 << 26 },
      });

      const single = CpuSet.of([machine.first!]);
      await client.updateContainer({ containerId: container.id, cpus: single });
      expect(container.cpuset().cpus).toBe(single.toString());
      const after = (await client.readNode()).containers.find(({ id }) => id === container.id);
      expect(after?.resources).toMatchObject({ cpus: single.toString(), quotaUs: 50_000 });

      await container.stop();
      const late = client.updateContainer({ containerId: container.id, cpus: single });
      if (suite === 'crio') await expect(late).rejects.toMatchObject({ code: 'NOT_FOUND' });
      else await late; // containerd keeps it for the case that the container is started again

      await pod.remove();
      expect(await client.listContainers()).toEqual([]);
      expect(await client.listPods()).toEqual([]);
      await expect(client.updateContainer({ containerId: container.id, cpus: single })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
    } finally {
      client.close();
    }
  });

  test('containers outlive a crash of containerd, which knows them when it is back', async () => {
    const pod = await runtime.kubelet.runPod({
      containers: [{ name: 'main', cpus: 1, command: printMaskThenSleep }],
    });
    const container = await pod.startContainer('main');
    await container.firstLine();
    await runtime.kill();
    expect(container.cpuset().effectiveCpus).not.toBe('');
    await runtime.start();
    const client = createCriClient(runtime.criSocket);
    try {
      const known = await poll('the container is listed', async () =>
        (await client.listContainers({ waitForReady: true })).find(({ id }) => id === container.id),
      );
      expect(known.phase).toBe('running');
    } finally {
      client.close();
    }
  });

  test('a container that a test leaves running is ended with the runtime', async () => {
    // afterAll fails when a process, cgroup, mount or folder of it is left.
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'main', command: printMaskThenSleep }] });
    const container = await pod.startContainer('main');
    expect(await container.firstLine()).not.toBe('');
  });
});
