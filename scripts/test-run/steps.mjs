// The steps of `npm test`, and those that `npm run test:all` adds.
import { availableParallelism, totalmem } from 'node:os';
import { clusterTestCommand } from '../cluster/test-command.mjs';
import { listE2eSteps } from './e2e-files.mjs';
import { jest, jestArguments } from './jest.mjs';

/** @typedef {[string, ...string[]]} Command */
/**
 * @typedef {object} Step
 * @property {string} name short: it stands in lines and in the table
 * @property {Command} command
 * @property {'jest' | 'results' | 'itself'} [counts] the source of its counts: jest, a script of ours (see
 * results.mjs), or the
 *   step, which then is one test; a step without it is no test until it fails
 * @property {number} [cpus] the CPUs that it keeps busy on average, for what runs beside it; by default all
 * @property {number} [memoryGiB] the memory that it takes; 1 by default
 * @property {string[]} [needs] the steps that must have succeeded
 * @property {NodeJS.ProcessEnv} [env] added to the environment
 * @property {number} [quietMinutes] the step is ended when it makes no progress for so long; 10 by default
 * @property {number} [graceSeconds] between SIGTERM and SIGKILL
 * @property {boolean} [printsItself] it prints lines of its own steps
 */

/** @type {(name: string) => Command} */
const script = (name) => ['npm', 'run', '--silent', name];
/** @type {(...names: string[]) => Command} */
const prepare = (...names) => [process.execPath, 'scripts/test-run/prepare.mjs', ...names];
const install =
  "import { ensureDependencies } from './scripts/ensure-dependencies.mjs'; ensureDependencies(process.cwd());";

/**
 * The steps of end-to-end tests of these names. They wait more than they work: two files at once need about one CPU.
 * @param {string[]} names
 * @param {Partial<Step>} more
 * @returns {Step[]}
 */
const e2e = (names, more = {}) =>
  listE2eSteps()
    .filter(({ name }) => names.includes(name))
    .map(({ name, suites, files }) => ({
      name: `e2e ${name}`,
      command: jest('--selectProjects', 'e2e', '--maxWorkers', '2', '--runTestsByPath', ...files),
      counts: 'jest',
      cpus: 1,
      env: { CPUSETD_SUITES: suites.join() },
      ...more,
    }));

/** Unit tests wait as well as work, so that there are three workers for two CPUs. Each takes up to 1.5 GiB. */
const countUnitWorkers = () =>
  Math.max(1, Math.min(Math.ceil(1.5 * availableParallelism()), Math.floor(totalmem() / 2 ** 30 / 1.5)));

/**
 * The steps of `npm test`: minutes at most, set-up included.
 * @returns {Step[]}
 */
export function listSteps() {
  const needs = ['dependencies'];
  return [
    { name: 'dependencies', command: [process.execPath, '--input-type=module', '-e', install], cpus: 1 },
    { name: 'Debian containerds', command: prepare('trixie', 'sid'), cpus: 1 },
    { name: 'build', command: script('build'), cpus: 1, needs },
    { name: 'lint', command: script('lint'), cpus: 1, memoryGiB: 3, needs },
    ...e2e(['core'], { needs: ['build', 'Debian containerds'] }),
    { name: 'types', command: script('types'), cpus: 1, memoryGiB: 2, needs },
    { name: 'format', command: script('format:check'), cpus: 1, needs },
    { name: 'generated code', command: script('gen:check'), cpus: 1, needs },
    {
      name: 'unit and conformance',
      command: jest('--selectProjects', 'unit', 'conformance', '--maxWorkers', String(countUnitWorkers())),
      counts: 'jest',
      needs: ['build'],
    },
  ];
}

/**
 * All steps of `npm run test:all`: `npm test`, and then everything that it leaves out. They use its build and all that
 * it set up.
 * @returns {Step[]}
 */
export function listAllSteps() {
  /** @type {Command} */
  const machines = [process.execPath, 'scripts/machines/run.mjs', '--all'];
  return [
    {
      name: 'npm test',
      command: ['npm', 'test'],
      counts: 'results',
      quietMinutes: Infinity,
      graceSeconds: 60,
      printsItself: true,
    },

    // These are built once. Compilers take all CPUs.
    { name: 'Kubernetes', command: prepare('cluster', 'scheduler-plugins') },
    { name: 'containerd, CRI-O', command: prepare('release', 'containerd-integration', 'cri-tools', 'crio') },
    { name: 'crane, grpcurl, helm, krew, nri', command: prepare('crane', 'grpcurl', 'helm', 'krew', 'nri') },
    { name: 'parts of machines', command: [...machines, '--prepare'], cpus: 1 },
    { name: 'Chromium', command: prepare('chromium'), cpus: 1 },
    { name: 'Node 20, 22, 24', command: prepare('nodes'), cpus: 1 },

    // The longest first, so that all CPUs are busy to the end.
    {
      name: 'emulated machines',
      command: [...machines, '--jobs', '1'],
      counts: 'results',
      cpus: 1,
      memoryGiB: 2,
      needs: ['parts of machines'],
    },
    {
      name: 'cluster',
      command: clusterTestCommand(...jestArguments),
      counts: 'jest',
      cpus: 1,
      memoryGiB: 4,
      needs: ['Kubernetes', 'containerd, CRI-O'],
    },
    ...e2e(['rest'], { needs: ['crane, grpcurl, helm, krew, nri', 'Kubernetes', 'Node 20, 22, 24'] }),
    ...e2e(['on CRI-O'], { needs: ['containerd, CRI-O'] }),
    ...e2e(['on a release of containerd'], { needs: ['containerd, CRI-O'] }),
    { name: 'install commands', command: script('install:check'), counts: 'itself', cpus: 1 },
    ...['trixie', 'sid'].map(
      (suite) =>
        /** @type {Step} */ ({
          name: `soak ${suite}`,
          command: [process.execPath, 'scripts/soak.mjs', '--suite', suite, '--rounds', '600'],
          counts: 'itself',
          cpus: 0.5, // it is about memory and about what holds, not about time
        }),
    ),
    {
      name: 'fuzzing',
      command: [process.execPath, 'scripts/fuzz.mjs', '--jobs', '1', '--seed', '1'],
      counts: 'results',
      cpus: 1,
    },
    { name: 'quick benches', command: script('bench:quick'), counts: 'results', cpus: 1, needs: ['Kubernetes'] },
    ...e2e(['faults']),
    {
      name: 'page and dashboards in Chromium',
      command: jest('--selectProjects', 'browser', '--maxWorkers', '1'),
      counts: 'jest',
      cpus: 1,
      needs: ['Chromium'],
    },
    ...e2e(['API server'], { needs: ['Kubernetes'] }),
    { name: 'demo', command: script('demo'), counts: 'itself', cpus: 1 },
  ];
}
