import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseCpuList } from '../../src/core/cpuset';
import type { Stage } from './stage';

export interface StoryOptions {
  /** Prints one line of the story. */
  readonly say: (line: string) => void;
  /** Checks a claim: it holds when the observed text equals the wanted one. */
  readonly check: (claim: string, seen: string, wanted: string) => void;
  /** Maximum time to wait for a change, such as a repair. */
  readonly patienceMs: number;
}

/**
 * Plays every task of cpusetd once: pin, keep others off, repair, restart, release. Every claim is checked from outside
 * cpusetd.
 */
export async function playStory(stage: Stage, { say, check, patienceMs }: StoryOptions): Promise<void> {
  const { machine, words } = stage;
  const online = parseCpuList(machine);
  const reserved = String(online.toArray()[0]);
  const count = Math.min(2, online.size - 1);

  say(`1. cpusetd starts and registers with the runtime (CPU ${reserved} is reserved for the system)`);
  const daemon = stage.startDaemon(reserved);
  const nriHealth = (): Promise<string> => daemon.health('nri');
  check('gRPC health of "nri"', await settle(nriHealth, 'SERVING', patienceMs), 'SERVING');

  say('2. A shared pod, web, runs: it may use all CPUs that nobody owns');
  const web = await stage.run('web', 0);
  check(`web: ${words.own}`, (await web.beginning()).own, machine);

  say(`3. A Guaranteed pod, db, asks for ${count} CPU${count === 1 ? '' : 's'}`);
  const db = await stage.run('db', count, web);
  const { cpus: promise, because } = await daemon.decision('db');
  say(`   decided: db gets ${promise}, because: ${because}`);
  const given = parseCpuList(promise);
  const rest = online.minus(given).toString();
  const own = given.minus(parseCpuList(reserved));
  check('CPUs that db gets, without those of the system', String(own.size), String(count));
  check(`db: ${words.cpuset}`, db.cpuset(), promise);
  const beginning = await db.beginning();
  check(`db: ${words.neighbour('web')}`, String(beginning.neighbour), rest);
  check(`db: ${words.own}`, beginning.own, promise);
  const picture = await daemon.topology();
  const drawn = /^A .* db$/m.exec(picture)?.[0].replaceAll(/ +/g, ' ');
  check('cpusetd topology draws it', drawn ?? 'no db', `A static ${promise} default/db db`);
  for (const line of picture.trimEnd().split('\n')) say(`        ${line}`.trimEnd());

  say(`4. Someone writes ${reserved} into ${words.cpuset} of db, by hand`);
  const start = performance.now();
  db.tamper(reserved);
  const repaired = await settle(() => db.cpuset(), promise, patienceMs);
  const tookMs = Math.round(performance.now() - start);
  const [facts = '', cause] = (await daemon.drift()).split('; ');
  check('cpusetd noticed', wordDrift(facts, words), `promised ${promise}, and ${words.cpuset} is ${reserved}`);
  if (cause) say(`        ${cause}`);
  check(`repaired: ${words.cpuset}`, repaired, promise);
  say(`        after ${tookMs} ms`);

  say('5. cpusetd is killed, and starts again');
  check('its process was ended by', await daemon.kill(), 'SIGKILL');
  check(`without it, db: ${words.cpuset}`, db.cpuset(), promise);
  check(`without it, web: ${words.cpuset}`, web.cpuset(), rest);
  check('assignments read back from disk', await daemon.startAgain(), '1');
  check('gRPC health of "nri", again', await settle(nriHealth, 'SERVING', patienceMs), 'SERVING');
  check(`with it again, db: ${words.cpuset}`, db.cpuset(), promise);
  check(`with it again, web: ${words.cpuset}`, web.cpuset(), rest);

  say('6. db is removed');
  await stage.remove('db');
  check(`web: ${words.cpuset}`, await settle(() => web.cpuset(), machine, patienceMs), machine);
  await stage.remove('web');
}

/** The drift in words that hold on both stages: an embedded one has no kernel behind its files. */
function wordDrift(facts: string, { cpuset }: Stage['words']): string {
  return facts.replace(/^(promised \S+), the kernel has cpuset\.cpus (\S+)$/, `$1, and ${cpuset} is $2`);
}

/** Waits for the wanted observation. Gives the last one at the deadline. */
async function settle(see: () => string | Promise<string>, wanted: string, patienceMs: number): Promise<string> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const seen = await see();
    if (seen === wanted || performance.now() > endMs) return seen;
    await delay(1);
  }
}
