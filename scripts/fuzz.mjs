// Searches for inputs that break the readers of others' bytes: coverage-guided, with jazzer.js. Targets are
// test/fuzz/targets.
//
//   node scripts/fuzz.mjs [TARGET...] [--seconds N] [--jobs 2] [--seed N] [--keep]
//
// Without --seconds each target gets the number of inputs that it has below, however long that takes on this machine.
// The search begins with the seeds of the target and the kept corpus (test/fuzz/corpus). --keep adds to the corpus the
// inputs that reached new code. First a planted fault has to be found: else a search that finds nothing says nothing.
// The same seed gives the same search; without one each search is another. Ends with 0 when no target was broken, 1
// when one was, 2 when jazzer.js can't run here.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { logToStderr } from './shared/log.mjs';
import { ensureRoot, findMissingPrerequisite } from './runtime/debian-root.mjs';
import { endNotRun, writeResults } from './test-run/results.mjs';

/** @typedef {[string, ...string[]]} Command */

const repository = fileURLToPath(new URL('..', import.meta.url));
const fuzzDir = join(repository, 'test/fuzz');
const require = createRequire(import.meta.url);
const jazzer = join(require.resolve('@jazzer.js/core'), '../cli.js');

/**
 * @typedef {object} Outcome of one search
 * @property {string} name
 * @property {boolean} ok the target ended by itself and nothing threw
 * @property {boolean} found the target threw
 * @property {number} runs
 * @property {number} coverage
 * @property {Buffer | undefined} input that broke the target
 * @property {string} text the output of the search
 */

/** Inputs of a search without --seconds: about eight seconds of a CPU for each target. */
const usualRuns = 90_000;
/** @type {Partial<Record<string, number>>} */
const runsOf = {
  hpack: 200_000,
  'node-topology': 140_000,
  journal: 35_000,
  relay: 22_000,
  'kubelet-state': 9_000,
  options: 1_000,
  'policy-file': 1_000,
};
/** The planted fault was found after 9,000 inputs and fewer. */
const plantedRuns = 200_000;

/** Inputs that are kept of one target: enough to begin the next search with, few enough to be looked at. */
const MAX_KEPT = 40;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    seed: { type: 'string', default: '0' }, // libFuzzer's word for any
    keep: { type: 'boolean', default: false },
  },
});
const offered = readdirSync(join(fuzzDir, 'targets')).map((name) => basename(name, '.ts'));
process.exitCode = await main();

async function main() {
  const unknown = positionals.filter((name) => !offered.includes(name));
  if (unknown.length > 0) {
    console.error(`no such target: ${unknown.join(', ')}; there are ${offered.join(', ')}`);
    return 1;
  }
  const launcher = findLauncher();
  if (typeof launcher === 'string') endNotRun('fuzzing', `jazzer.js can't run here: ${launcher}`);
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-fuzz-'));
  try {
    const planted = await search({
      name: 'branches',
      folder: 'planted',
      limit: `-runs=${plantedRuns}`,
      launcher,
      work,
    });
    console.log(
      `planted fault: ${planted.found ? `found after ${planted.runs} runs` : 'NOT FOUND: the search does not work'}`,
    );
    if (!planted.found) {
      writeResults({ passed: 0, failed: 1, problems: ['the planted fault was not found'] });
      return 1;
    }

    const names = positionals.length > 0 ? positionals : offered;
    const waiting = [...names];
    /** @type {Outcome[]} */
    const outcomes = [];
    const searchNext = async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        const { seconds } = values;
        const limit =
          seconds === undefined ? `-runs=${runsOf[name] ?? usualRuns}` : `-max_total_time=${Number(seconds)}`;
        const outcome = await search({ name, folder: 'targets', limit, launcher, work });
        outcomes.push(outcome);
        report(outcome);
      }
    };
    await Promise.all(Array.from({ length: Number(values.jobs) }, searchNext));
    const broken = outcomes.filter(({ ok }) => !ok);
    writeResults({
      passed: 1 + outcomes.length - broken.length, // the planted fault is one
      failed: broken.length,
      problems: broken.map(({ name }) => `target ${name} was broken`),
    });
    const runs = outcomes.reduce((sum, outcome) => sum + outcome.runs, 0);
    console.log(`fuzz: ${outcomes.length} targets, ${runs} runs, ${broken.length} broken`);
    return broken.length > 0 ? 1 : 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * The command that starts Node so that it can load jazzer.js, which wants a newer libc than some systems have: then
 * with that of a Debian root that the tests have anyway.
 * @returns {Command | string} a text is the reason why there is none
 */
function findLauncher() {
  /** @param {Command} command */
  const loads = ([command, ...args]) =>
    spawnSync(command, [...args, '-e', `require(${JSON.stringify(jazzer.replace(/cli\.js$/, 'core.js'))})`], {
      stdio: 'ignore',
    }).status === 0;
  /** @type {Command} */
  const plain = [process.execPath];
  if (loads(plain)) return plain;
  const missing = findMissingPrerequisite('trixie');
  if (missing !== undefined) return missing;
  const libraries = join(
    ensureRoot('trixie', { log: logToStderr }),
    `usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`,
  );
  const linker = readdirSync(libraries).find((name) => /^ld-linux.*\.so/.test(name));
  if (linker === undefined) return `no dynamic linker in ${libraries}`;
  /** @type {Command} */
  const borrowed = [join(libraries, linker), '--library-path', libraries, process.execPath];
  return loads(borrowed) ? borrowed : 'neither with the libc of this system nor with that of Debian trixie';
}

/**
 * Runs one search.
 * @param {{ name: string, folder: string, limit: string, launcher: Command, work: string }} options limit: libFuzzer's
 * option
 * @returns {Promise<Outcome>}
 */
async function search({ name, folder, limit, launcher, work }) {
  const own = join(work, name);
  const found = join(own, 'found');
  const known = join(own, 'known');
  for (const dir of [found, known]) mkdirSync(dir, { recursive: true });
  const bundle = join(own, 'target.js');
  await build({
    entryPoints: [join(fuzzDir, folder, `${name}.ts`)],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });
  const { seeds, maxBytes } = require(bundle);
  for (const seed of seeds(join(repository, 'test/fixtures'))) writeFileSync(join(known, nameOf(seed)), seed);
  const corpus = join(fuzzDir, 'corpus', name);
  if (existsSync(corpus)) cpSync(corpus, known, { recursive: true });

  const args = [
    // A path with dots in an option is the operator's intention.
    ...[jazzer, bundle, '--disable_bug_detectors=path-traversal', '--', found, known],
    ...[limit, `-seed=${values.seed}`, `-max_len=${maxBytes}`, '-timeout=10', '-rss_limit_mb=2048'],
    `-artifact_prefix=${own}/`,
  ];
  /** @type {Buffer[]} */
  const log = [];
  const child = spawn(launcher[0], [...launcher.slice(1), ...args], { cwd: own, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => log.push(chunk));
  const [status] = await new Promise((resolve) => child.once('close', (...end) => resolve(end)));
  const text = Buffer.concat(log).toString('utf8');
  const runs = Number(/Done (\d+) runs/.exec(text)?.[1] ?? /^#(\d+)\s(?!.*^#\d+\s)/ms.exec(text)?.[1] ?? 0);
  const culprit = readdirSync(own).find((file) => /^(crash|timeout|oom|leak|slow-unit)-/.test(file));
  const coverage = Number([...text.matchAll(/cov: (\d+)/g)].at(-1)?.[1] ?? 0);
  const input = culprit === undefined ? undefined : readFileSync(join(own, culprit));
  if (values.keep && folder === 'targets') keep(corpus, found);
  return {
    name,
    ok: status === 0 && input === undefined && runs > 0,
    found: input !== undefined,
    runs,
    coverage,
    input,
    text,
  };
}

/**
 * Adds inputs of the search to the kept corpus, of all lengths, as far as there is room.
 * @param {string} corpus
 * @param {string} found the folder of the inputs
 */
function keep(corpus, found) {
  mkdirSync(corpus, { recursive: true });
  const room = Math.max(0, MAX_KEPT - readdirSync(corpus).length);
  const inputs = readdirSync(found).map((file) => readFileSync(join(found, file)));
  inputs.sort((a, b) => a.length - b.length);
  const step = Math.max(1, inputs.length / room);
  for (let i = 0; i < inputs.length && i / step < room; i += step) {
    const input = inputs[Math.floor(i)];
    if (input !== undefined) writeFileSync(join(corpus, nameOf(input)), input);
  }
}

/** @param {Outcome} outcome */
function report({ name, ok, runs, coverage, input, text }) {
  console.log(`${ok ? 'holds ' : 'BROKEN'} ${name.padEnd(14)} ${runs} runs, coverage ${coverage}`);
  if (ok) return;
  console.log(text.split('\n').slice(-60).join('\n'));
  if (input === undefined) return;
  const kept = join(fuzzDir, 'corpus', name, nameOf(input));
  mkdirSync(join(kept, '..'), { recursive: true });
  writeFileSync(kept, input);
  console.log(
    `the input is kept as test/fuzz/corpus/${name}/${basename(kept)}; test/fuzz/corpus.test.ts tries it from now on`,
  );
}

/** @param {Uint8Array} input */
function nameOf(input) {
  return createHash('sha256').update(input).digest('hex').slice(0, 16);
}
