import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { formatKubeletState, parseKubeletState } from '../../src/state/kubelet-checkpoint';
import { bundle, type Daemon, lastCpu, onRuntimes, type Runtime, startDaemon, startRuntime } from './rig';

jest.setTimeout(300_000);

const run = promisify(execFile);
onRuntimes(['sid'], 'a move from the kubelet’s static policy to cpusetd and back', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon | undefined;
  let dir: string;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    dir = mkdtempSync(join(tmpdir(), 'state-'));
  });
  afterEach(async () => {
    await daemon?.dispose();
  });
  afterAll(async () => {
    rmSync(dir, { recursive: true, force: true });
    await runtime?.stop();
  });

  test('running containers keep their CPUs, and the export equals the import', async () => {
    // The kubelet has put the container on the last CPU, and all others on the other CPUs.
    const own = `${lastCpu}`;
    const pool = lastCpu === 1 ? '0' : `0-${lastCpu - 1}`;
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: 1, cpusetCpus: own }] });
    const db = await pod.startContainer('db');
    const sharedPod = await runtime.kubelet.runPod({
      containers: [{ name: 'web', cpuRequestMilli: 100, cpusetCpus: pool }],
    });
    const web = await sharedPod.startContainer('web');
    const file = join(dir, 'cpu_manager_state');
    const entries = new Map([
      [pod.uid, new Map([['db', own]])],
      // Only if the machine has a CPU for it: the kubelet's sets do not overlap.
      ...(lastCpu > 1 ? ([['uid-of-a-pod-that-is-gone', new Map([['x', '1']])]] as const) : []),
    ]);
    const left = lastCpu > 1 ? ['0', ...(lastCpu > 2 ? [`2-${lastCpu - 1}`] : [])].join() : pool;
    const kubelets = { policyName: 'static', defaultCpuSet: left, entries, podEntries: new Map<string, string>() };
    writeFileSync(file, formatKubeletState(kubelets, 'v2'));

    const stateDir = join(dir, 'cpusetd');
    const state = (...args: string[]) => run(process.execPath, [bundle, 'state', ...args, '--state-dir', stateDir]);
    await state('import-kubelet', file);
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'], stateDir });
    await daemon.ready();
    expect(daemon.log.lines.filter(({ msg }) => msg === 'moved' || msg === 'drifted')).toEqual([]);
    expect(db.cpuset().cpus).toBe(own);
    expect(web.cpuset().cpus).toBe(pool);
    await expect(state('import-kubelet', file)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cpusetd is running/) as string,
    });

    const { stdout: shown } = await state('show', '-o', 'json');
    expect((JSON.parse(shown) as { assignments: unknown[] }).assignments).toMatchObject([
      { podUid: pod.uid, podName: pod.name, containerName: 'db', cpus: own, containerId: db.id },
    ]);
    const exported = parseKubeletState((await state('export-kubelet')).stdout);
    expect(exported).toMatchObject({ ok: true, state: { policyName: 'static', defaultCpuSet: pool } });
    expect(exported.ok && exported.state.entries).toEqual(new Map([[pod.uid, new Map([['db', own]])]]));
    await pod.remove();
    await sharedPod.remove();
  });
});
