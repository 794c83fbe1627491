import { dirname } from 'node:path';
import { openRealStage } from '../../scripts/demo/real-stage';
import { runDemo } from '../../scripts/demo/run-demo';
import type { Actor, Stage } from '../../scripts/demo/stage';
import { patienceMs, requireRuntime } from './rig';

// The demo on the real containerd, and on a stage where one thing is wrong.
jest.setTimeout(300_000);

async function play(change: (stage: Stage) => Partial<Stage> = () => ({})) {
  const lines: string[] = [];
  const stage = await openRealStage();
  const say = (text: string): void => void lines.push(...text.split('\n'));
  const status = await runDemo({ stage: { ...stage, ...change(stage) }, say, patienceMs });
  return { status, failed: lines.filter((line) => line.startsWith('   WRONG ')) };
}

requireRuntime('trixie')('The demo, on the real containerd of Debian trixie', () => {
  test('every claim holds', async () => {
    expect(await play()).toEqual({ status: 0, failed: [] });
  });

  test('a first process that reads the cgroup of the pod instead: only that claim fails', async () => {
    const besideThePod = (stage: Stage): Partial<Stage> => ({
      run: (name: string, cpus: number, beside?: Actor) =>
        stage.run(name, cpus, beside && { ...beside, folder: dirname(beside.folder) }),
    });
    expect(await play(besideThePod)).toEqual({
      status: 1,
      failed: [
        expect.stringMatching(/^ {3}WRONG db: its first process, before anything else, read cpuset\.cpus of web: /),
      ],
    });
  });
});
