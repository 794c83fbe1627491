import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCpuList } from '../../src/core/cpuset';
import {
  askDaemon,
  type Daemon,
  onRuntimes,
  onlineCpus,
  type Runtime,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const machine = parseCpuList(onlineCpus);

interface Refused {
  readonly container: string;
  readonly code: string;
  readonly requested: number;
  readonly times: number;
  readonly firstAt: string;
  readonly because: string;
  readonly remedy: string;
}

onRuntimes(['sid'], 'explain of a refused container', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon | undefined;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });

  const explain = async (pod: { namespace: string; name: string }): Promise<readonly Refused[]> => {
    const stdout = await askDaemon(daemon!, 'explain', `${pod.namespace}/${pod.name}`, '-o', 'json');
    return (JSON.parse(stdout) as { refused: Refused[] }).refused;
  };

  test('the refusal is there at once, after an orderly restart, after a crash, and after another container starts', async () => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', String(machine.first)] });
    await daemon.ready();
    const pod = await runtime.kubelet.runPod({
      containers: [
        { name: 'big', cpus: machine.size },
        { name: 'small', cpus: 0.1 },
      ],
    });
    const tryAgain = () => expect(pod.startContainer('big')).rejects.toThrow(/can be given now/);
    await tryAgain();
    await tryAgain();
    const [first, ...others] = await explain(pod);
    expect(others).toEqual([]);
    expect(first).toMatchObject({ container: 'big', code: 'RESOURCE_EXHAUSTED', requested: machine.size, times: 2 });
    expect(first!.because).toMatch(`asked for ${machine.size} exclusive CPUs`);
    expect(first!.remedy).toMatch(/ask for fewer/);

    await daemon.stop();
    daemon.start();
    await daemon.ready();
    expect(await explain(pod)).toEqual([first]);
    await tryAgain();
    expect(await explain(pod)).toMatchObject([{ times: 3, firstAt: first!.firstAt }]);

    const late = await runtime.kubelet.runPod({ containers: [{ name: 'late', cpus: machine.size }] });
    await expect(late.startContainer('late')).rejects.toThrow(/can be given now/);
    const file = join(daemon.stateDir, 'refusals.json');
    await waitUntil('the refusal on disk', () => existsSync(file) && readFileSync(file, 'utf8').includes(late.uid));
    await daemon.kill();
    daemon.start();
    await daemon.ready();
    expect(await explain(late)).toMatchObject([{ container: 'late', times: 1 }]);
    expect(await explain(pod)).toMatchObject([{ container: 'big', times: 3 }]);

    await pod.startContainer('small');
    expect(await explain(pod)).toMatchObject([{ container: 'big' }]);
    await pod.remove();
    await late.remove();
  });
});
