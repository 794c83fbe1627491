import { execFileSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { parseCpuList } from '../../src/core/cpuset';
import { bundle, type Daemon, startDaemon, waitUntil } from '../../test/e2e/rig';
import type { Stage } from './stage';

export interface Telling {
  /** One line of the story. */
  readonly say: (line: string) => void;
  /** A line that claims something, and whether it held. */
  readonly check: (claim: string, held: boolean, seen: string) => void;
}

/** Plays the whole job once: pin, keep off, repair, survive, give back. Every claim is read back from the outside. */
export async function playStory(
  stage: Stage,
  { say, check }: Telling,
  onDaemon: (daemon: Daemon) => void,
): Promise<void> {
  const online = parseCpuList(stage.machine).toArray();
  const reserved = String(online[0]);
  const count = Math.min(2, online.length - 1);

  say(`1. cpusetd starts and registers with the runtime (CPU ${reserved} is reserved for the system)`);
  const daemon = startDaemon({
    args: [...stage.daemonArgs, '--reserved-cpus', reserved, '--reconcile-period', '2s'],
    ...(stage.daemonEnv && { env: stage.daemonEnv }),
  });
  onDaemon(daemon);
  await daemon.waitForLog('synchronized with the runtime');
  check('registered and synchronized over NRI', true, 'health of "nri" is SERVING');

  say('2. A shared pod runs: it may use all CPUs that nobody owns');
  const web = await stage.run('web', 0);
  check(
    'its first process printed Cpus_allowed_list',
    (await web.firstWords()) === stage.machine,
    await web.firstWords(),
  );

  say(`3. A Guaranteed pod asks for ${count} CPU${count === 1 ? '' : 's'}`);
  const db = await stage.run('db', count);
  const pinned = await daemon.waitForLog((line) => line.msg === 'pinned' && line.container === 'db');
  const promise = String(pinned.cpus);
  say(`   decided: db gets ${promise}, because: ${String(pinned.because)}`);
  check('db: cpuset.cpus', db.cpusOfKernel() === promise, db.cpusOfKernel());
  check('db: first process printed Cpus_allowed_list', (await db.firstWords()) === promise, await db.firstWords());
  const rest = parseCpuList(stage.machine).minus(parseCpuList(promise)).toString();
  check('web was moved off before db ran: cpuset.cpus', web.cpusOfKernel() === rest, web.cpusOfKernel());

  await daemon.waitForLog('started'); // what people ask is served after what containers need
  const picture = ask(daemon, 'topology');
  check('cpusetd topology draws it', /^A .* db$/m.test(picture), 'A is db');
  for (const line of picture.trimEnd().split('\n')) say(`        ${line}`.trimEnd());

  say('4. Someone writes another cpuset into the cgroup of db, by hand');
  const start = performance.now();
  db.tamper(reserved);
  await waitUntil('the repair', () => db.cpusOfKernel() === promise);
  check(`repaired after ${Math.round(performance.now() - start)} ms: cpuset.cpus`, true, db.cpusOfKernel());
  const drift = await daemon.waitForLog('drifted');
  say(`   noticed: ${String(drift.because)}`);

  say('5. cpusetd is killed with SIGKILL, and starts again');
  await daemon.kill();
  check('db did not move: cpuset.cpus', db.cpusOfKernel() === promise, db.cpusOfKernel());
  check('web did not move: cpuset.cpus', web.cpusOfKernel() === rest, web.cpusOfKernel());
  const mark = daemon.mark();
  daemon.start();
  const restored = await daemon.waitForLog('state restored', { from: mark });
  await daemon.waitForLog('synchronized with the runtime', { from: mark });
  check('assignments read back from disk', restored.assignments === 1, String(restored.assignments));
  check('db is still where it was: cpuset.cpus', db.cpusOfKernel() === promise, db.cpusOfKernel());

  say('6. The Guaranteed pod is removed');
  await stage.remove('db');
  await waitUntil('the pool to grow', () => web.cpusOfKernel() === stage.machine);
  check('web may use all CPUs again: cpuset.cpus', true, web.cpusOfKernel());
  await stage.remove('web');
}

/** What a command prints for people. Throws when it does not exit with 0. */
function ask(daemon: Daemon, command: string): string {
  return execFileSync(process.execPath, [bundle, command, '--admin-socket', daemon.adminSocket], { encoding: 'utf8' });
}
