// The steps of `npm test`, and those that `npm run test:all` adds.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { clusterTestCommand } from '../cluster/test-command.mjs';

/** @typedef {[string, ...string[]]} Command */
/**
 * @typedef {object} Step
 * @property {string} name
 * @property {Command | ((file: string) => Command)} command a function gives the command for the file of the results
 * @property {'jest' | 'results' | 'itself'} [counts] the source of its counts: jest, a script of ours (see results.mjs), or the
 *   step, which then is one test; a step without it is no test until it fails
 * @property {boolean} [light] it takes one CPU and runs beside others
 * @property {string[]} [needs] the steps that must have succeeded
 * @property {NodeJS.ProcessEnv} [env] added to the environment
 * @property {number} [limitMinutes] the step is ended after that
 * @property {number} [graceSeconds] between SIGTERM and SIGKILL
 */

/** The files of test/e2e that are quick and cover most: the daemon as plugin and as proxy, its state, and the repair of drift. */
const core = ['rig', 'rig-parts', 'nri', 'proxy', 'required-plugin', 'state', 'drift'].map(toE2eFile);
/** They need Kubernetes or what comes with it, which takes minutes to build. */
const withApiServer = ['certificates', 'kube-api'].map(toE2eFile);
/** The files that also run on a release of containerd that no suite of Debian has: all that have tests for one. */
const onRelease = [
  ...[
    'admin',
    'audit',
    'check',
    'cpu-identity',
    'drift',
    'events',
    'examples',
    'faults/faults',
    'hotplug',
    'kube',
    'nri',
    'nri-plugins-together',
    'page',
    'refusals',
    'reload',
    'report',
    'required-plugin',
    'state',
  ],
].map(toE2eFile);
/** The files that also run on CRI-O. */
const onCrio = [
  ...[
    'admin',
    'audit',
    'check',
    'cpu-identity',
    'crane',
    'drift',
    'events',
    'examples',
    'faults/faults',
    'hotplug',
    'kube',
    'nri',
    'nri-plugins-together',
    'page',
  ],
  ...['proxy', 'proxy-transparency', 'refusals', 'reload', 'report', 'rig', 'state'],
].map(toE2eFile);
/** It runs on a release of containerd and on CRI-O only. */
const notOnDebian = [toE2eFile('cri-suite')];

/** @param {string} name */
function toE2eFile(name) {
  return `test/e2e/${name}.test.ts`;
}

/** @type {(name: string) => Command} */
const script = (name) => ['npm', 'run', '--silent', name];
/** @type {(...args: string[]) => (file: string) => [string, ...string[]]} */
const jest =
  (...args) =>
  (file) => [process.execPath, 'node_modules/jest/bin/jest.js', '--silent', '--json', '--outputFile', file, ...args];
/**
 * A step of end-to-end tests. They wait more than they work: two files at once take little longer than one.
 * @param {string[]} files
 * @param {string} suites
 * @returns {Omit<Step, 'name'>}
 */
const e2e = (files, suites = 'trixie,sid') => ({
  command: jest('--selectProjects', 'e2e', '--maxWorkers', '2', '--runTestsByPath', ...files),
  counts: 'jest',
  env: { CPUSETD_SUITES: suites },
});
const install =
  "import { ensureDependencies } from './scripts/ensure-dependencies.mjs'; ensureDependencies(process.cwd());";

/**
 * The steps of `npm test`: minutes at most, set-up included.
 * @returns {Step[]}
 */
export function listSteps() {
  const needs = ['dependencies'];
  return [
    { name: 'dependencies', command: [process.execPath, '--input-type=module', '-e', install], light: true },
    {
      name: 'containerd 1.7 and 2.x of Debian',
      command: [process.execPath, 'scripts/test-run/prepare.mjs', 'trixie', 'sid'],
      light: true,
    },
    { name: 'lint', command: script('lint'), light: true, needs },
    { name: 'types', command: script('types'), light: true, needs },
    { name: 'format', command: script('format:check'), light: true, needs },
    { name: 'generated code is what proto/ generates', command: script('gen:check'), light: true, needs },
    { name: 'build', command: script('build'), light: true, needs },
    {
      name: 'unit and conformance tests',
      command: jest('--selectProjects', 'unit', 'conformance'),
      counts: 'jest',
      needs: ['dependencies', 'build'],
    },
    { name: 'e2e, core', ...e2e(core), needs: ['dependencies', 'build'] },
  ];
}

/**
 * The steps after `npm test`. They use its build and everything else that it set up.
 * @param {string} root
 * @returns {Step[]}
 */
export function listFurtherSteps(root) {
  /** @type {Command} */
  const machines = [process.execPath, 'scripts/machines/run.mjs', '--all'];
  const tools = ['grpcurl', 'helm', 'krew'];
  return [
    {
      name: 'Kubernetes and its tools, built once from their modules, and etcd',
      command: [process.execPath, 'scripts/test-run/prepare.mjs', ...['cluster', 'scheduler-plugins'], ...tools],
      light: true,
      limitMinutes: 40,
    },
    { name: 'parts of emulated machines', command: [...machines, '--prepare'], light: true, limitMinutes: 30 },
    {
      name: 'containerd release, built once from its modules',
      command: [process.execPath, 'scripts/test-run/prepare.mjs', 'release', 'containerd-integration'],
      light: true,
      limitMinutes: 20,
    },
    {
      name: 'CRI-O, built once from its modules',
      command: [process.execPath, 'scripts/test-run/prepare.mjs', 'crio'],
      light: true,
      limitMinutes: 20,
    },
    { name: "the README's install commands", command: script('install:check'), counts: 'itself', light: true },
    {
      name: 'Chromium of Debian',
      command: [process.execPath, 'scripts/test-run/prepare.mjs', 'chromium'],
      light: true,
      limitMinutes: 20,
    },
    {
      name: 'Node 20, 22 and 24',
      command: [process.execPath, 'scripts/test-run/prepare.mjs', 'nodes'],
      light: true,
      limitMinutes: 10,
    },
    { name: 'the page in Chromium', command: jest('--selectProjects', 'browser'), counts: 'jest', limitMinutes: 15 },
    { name: 'demo', command: script('demo'), counts: 'itself' },
    { name: 'e2e, API server', ...e2e(withApiServer) },
    { name: 'e2e, the rest', ...e2e(listRest(root)), limitMinutes: 20 },
    { name: 'e2e, faults', ...e2e(listFaults(root)), limitMinutes: 20 },
    { name: 'e2e, on a release of containerd', ...e2e([...onRelease, ...notOnDebian], 'release'), limitMinutes: 25 },
    { name: 'e2e, on CRI-O', ...e2e([...onCrio, ...notOnDebian], 'crio'), limitMinutes: 20 },
    {
      name: 'a real cluster',
      command: (file) => clusterTestCommand(file, '--silent'),
      counts: 'jest',
      limitMinutes: 30,
    },
    {
      name: 'fuzzing',
      command: [process.execPath, 'scripts/fuzz.mjs', '--seconds', '15', '--seed', '1'],
      counts: 'results',
    },
    { name: 'claims in emulated machines', command: machines, counts: 'results', limitMinutes: 45 },
    { name: 'benches of the promise, quick: do they work', command: script('bench:quick'), counts: 'results' },
    ...['trixie', 'sid'].map(
      (suite) =>
        /** @type {Step} */ ({
          name: `soak, containerd of Debian ${suite}`,
          command: [process.execPath, 'scripts/soak.mjs', '--suite', suite, '--minutes', '2'],
          counts: 'itself',
          light: true, // it is about memory and about what holds, not about time
        }),
    ),
  ];
}

/**
 * The groups of end-to-end test files for the containerds of Debian. Each file is in one group, `rest` if in no other.
 * @param {string} root
 */
export const e2eGroups = (root) => ({
  core,
  withApiServer,
  faults: listFaults(root),
  notOnDebian,
  rest: listRest(root),
});

/** @param {string} root */
const listFaults = (root) => listE2e(root).filter((file) => file.startsWith('test/e2e/faults/'));

/** @param {string} root */
function listRest(root) {
  const elsewhere = new Set([...core, ...withApiServer, ...notOnDebian, ...listFaults(root)]);
  return listE2e(root).filter((file) => !elsewhere.has(file));
}

/** @param {string} root */
function listE2e(root) {
  const names = readdirSync(join(root, 'test/e2e'), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/e2e/${name}`)
    .sort();
}
