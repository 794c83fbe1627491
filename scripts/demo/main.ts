// The first command of the README: shows the main job of cpusetd, and fails when a claim does not hold.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { patienceMs } from '../../test/e2e/rig';
import { projectRoot } from '../../test/e2e/rig/project-root';
import { openEmbeddedStage } from './embedded-stage';
import { openRealStage } from './real-stage';
import { runDemo } from './run-demo';
import type { Stage } from './stage';

const say = (line: string): void => console.log(line);

async function openStage(): Promise<Stage> {
  say('Preparing a private containerd (about half a minute the first time) ...');
  const script = join(projectRoot(), 'scripts/runtime/debian-root.mjs');
  const built = spawnSync(process.execPath, [script, 'trixie'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (built.status === 0) return openRealStage();
  const reason = (built.stderr.trim().split('\n').pop() ?? '').replace(/^no Debian root: /, '');
  say('There is no real containerd in this demo, so an embedded runtime takes its part. The reason:');
  say(`   ${reason}\n`);
  return openEmbeddedStage();
}

async function main(): Promise<number> {
  const opened = await openStage();
  let closed: ReturnType<Stage['close']> | undefined;
  const stage: Stage = { ...opened, close: () => (closed ??= opened.close()) }; // both an interruption and the end may call it
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      say('\nInterrupted: cleaning up ...');
      void stage.close().finally(() => process.exit(130));
    });
  }
  return runDemo({ stage, say, patienceMs });
}

main().then(
  (status) => (process.exitCode = status),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
