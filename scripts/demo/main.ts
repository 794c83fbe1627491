// The first command of the README: shows the main job of cpusetd, and fails when a claim does not hold.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { patienceMs } from '../../test/e2e/rig';
import { projectRoot } from '../../test/e2e/rig/project-root';
import { openEmbeddedStage } from './embedded-stage';
import { openRealStage } from './real-stage';
import { runDemo } from './run-demo';
import type { Stage } from './stage';

const say = (line: string): void => console.log(line);

/**
 * Builds the root folder of containerd when there is none. What it says meanwhile is passed on; `reason`: why there is
 * none.
 */
async function prepareRoot(): Promise<{ status: number | null; reason: string }> {
  const script = join(projectRoot(), 'scripts/runtime/debian-root.mjs');
  const build = spawn(process.execPath, [script, 'trixie'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(build, 'close') as Promise<[number | null]>;
  const failure = 'no Debian root: ';
  let reason = '';
  for await (const line of createInterface(build.stderr)) {
    if (line.startsWith(failure)) reason = line.slice(failure.length);
    else say(line);
  }
  const [status] = await closed;
  return { status, reason };
}

async function openStage(): Promise<Stage> {
  say('Preparing a private containerd (about half a minute the first time) ...');
  const { status, reason } = await prepareRoot();
  if (status === 0) return openRealStage();
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
