import { REAL_WORDS } from '../../scripts/demo/real-stage';
import { runDemo } from '../../scripts/demo/run-demo';
import { readPage } from '../docs/markdown';
import { rightObservations, openModelStage, type Observations } from './model-stage';

/** Plays the demo on a model stage with these observations. */
async function play(observations: Observations): Promise<{ status: number; lines: string[]; failed: string[] }> {
  const lines: string[] = [];
  const say = (text: string): void => void lines.push(...text.split('\n'));
  const status = await runDemo({ stage: openModelStage(observations, REAL_WORDS), say, patienceMs: 5 });
  return { status, lines, failed: claimsOf(lines, 'WRONG') };
}

const claimsOf = (lines: readonly string[], verdict: 'held' | 'WRONG'): string[] =>
  lines.flatMap((line) => {
    const [, found, claim] = /^ {3}(held|WRONG) +(.*?): [^:]*(?:, but it should be .*)?$/.exec(line) ?? [];
    return found === verdict ? [claim!] : [];
  });

/** For each claim, a change of one observation that makes it wrong. */
const MUTATIONS: Readonly<Record<string, (observations: Observations) => void>> = {
  'gRPC health of "nri"': (observations) => (observations.health[0] = 'NOT_SERVING'),
  'web: its first process printed Cpus_allowed_list': ({ web }) => (web.own = '0'),
  'CPUs that db gets, without those of the system': makeReservedPromise,
  'db: cpuset.cpus': ({ db }) => (db.cpusets.pinned = '0-1'),
  'db: its first process, before anything else, read cpuset.cpus of web': ({ db }) => (db.neighbour = '0-1'),
  'db: its first process printed Cpus_allowed_list': ({ db }) => (db.own = '0-1'),
  'cpusetd topology draws it': (observations) =>
    (observations.topology = observations.topology.replace('A  static    1', 'A  static    0')),
  'cpusetd noticed': (observations) => (observations.drift = 'nothing'),
  'repaired: cpuset.cpus': ({ db }) => (db.cpusets.repaired = '0'),
  'its process was ended by': (observations) => (observations.outcome = '0'),
  'without it, db: cpuset.cpus': ({ db }) => (db.cpusets.killed = '0-1'),
  'without it, web: cpuset.cpus': ({ web }) => (web.cpusets.killed = '0-1'),
  'assignments read back from disk': (observations) => (observations.assignments = '0'),
  'gRPC health of "nri", again': (observations) => (observations.health[1] = 'nobody answers'),
  'with it again, db: cpuset.cpus': ({ db }) => (db.cpusets.back = '0-1'),
  'with it again, web: cpuset.cpus': ({ web }) => (web.cpusets.back = '0-1'),
  'web: cpuset.cpus': ({ web }) => (web.cpusets.alone = '0'),
  'left of all that was made': ({ leftovers }) => leftovers.push('a cgroup'),
};

/** The daemon gives the reserved CPU to db, and all other observations agree with that. */
function makeReservedPromise(observations: Observations): void {
  observations.promise = '0';
  observations.drift = 'promised 0, the kernel has cpuset.cpus 0';
  observations.topology = observations.topology.replace('A  static    1', 'A  static    0');
  Object.assign(observations.db, { own: '0', neighbour: '1' });
  Object.assign(observations.db.cpusets, { pinned: '0', repaired: '0', killed: '0', back: '0' });
  Object.assign(observations.web.cpusets, { killed: '1', back: '1' });
}

test('the right observations: every claim holds, and each has a mutation in the table', async () => {
  const { status, lines, failed } = await play(rightObservations());
  expect({ status, failed }).toEqual({ status: 0, failed: [] });
  expect(claimsOf(lines, 'held')).toEqual(Object.keys(MUTATIONS));
  expect(lines.filter((line) => /^ *held\b/.test(line))).toHaveLength(Object.keys(MUTATIONS).length);
  expect(lines.at(-1)).toBe('Every check held.');
});

test.each(Object.entries(MUTATIONS))('one wrong observation: only the claim "%s" fails', async (claim, mutate) => {
  const observations = rightObservations();
  mutate(observations);
  expect(await play(observations)).toMatchObject({ status: 1, failed: [claim] });
});

test('a story that ends with an error: the stage is closed', async () => {
  const stage = openModelStage(rightObservations(), REAL_WORDS);
  let closed = false;
  const close = (): Promise<string[]> => ((closed = true), Promise.resolve([]));
  const run = (): Promise<never> => Promise.reject(new Error('no pod today'));
  await expect(runDemo({ stage: { ...stage, run, close }, say: () => undefined, patienceMs: 5 })).rejects.toThrow(
    'no pod',
  );
  expect(closed).toBe(true);
});

test('the README shows the output of the demo on a real containerd', async () => {
  const [, shown = ''] = /\n## See it work\n[^]*?\n```\n([^]*?)```/.exec(readPage('../README.md')) ?? [];
  const { lines } = await play(rightObservations());
  const timeless = (text: string): string => text.replaceAll(/after \d+ ms/g, 'after some ms');
  expect(timeless(shown.trimEnd())).toBe(timeless(lines.slice(2).join('\n')));
});
