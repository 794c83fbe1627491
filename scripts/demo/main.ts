// The README's first command: shows the main job being done, and fails when any claim does not hold.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Daemon } from '../../test/e2e/rig';
import { projectRoot } from '../../test/e2e/rig/project-root';
import { openEmbeddedStage } from './embedded-stage';
import { openRealStage } from './real-stage';
import type { Stage } from './stage';
import { playStory } from './story';

const say = (line: string): void => console.log(line);

async function openStage(): Promise<Stage> {
  say('Preparing a private containerd (about half a minute the first time) ...');
  const script = join(projectRoot(), 'scripts/runtime/debian-root.mjs');
  const built = spawnSync(process.execPath, [script, 'trixie'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (built.status === 0) return openRealStage();
  say(
    `No real containerd here (${(built.stderr.trim().split('\n').pop() ?? '').trim()}): an embedded runtime takes its part.`,
  );
  return openEmbeddedStage();
}

async function main(): Promise<number> {
  let stage: Stage | undefined;
  let daemon: Daemon | undefined;
  let failed = 0;
  const cleanUp = async (): Promise<void> => {
    await daemon?.dispose();
    await stage?.close();
    daemon = stage = undefined;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      say('\nInterrupted: cleaning up ...');
      void cleanUp().finally(() => process.exit(130));
    });
  }
  try {
    stage = await openStage();
    say(`On ${stage.what}\n`);
    await playStory(
      stage,
      {
        say,
        check: (claim, held, seen) => {
          if (!held) failed++;
          say(`   ${held ? 'ok  ' : 'FAIL'} ${claim}: ${seen}`);
        },
      },
      (started) => (daemon = started),
    );
  } finally {
    await cleanUp();
  }
  say(failed === 0 ? '\nEvery check held; everything that was made is removed.' : `\n${failed} checks did not hold.`);
  return failed === 0 ? 0 : 1;
}

main().then(
  (status) => (process.exitCode = status),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
