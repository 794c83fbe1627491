// npm run check: format, lint, types and the nearest tests for the files that differ from a commit: by default where
// the branch left main.
//
//   npm run check [-- --base COMMIT | --staged]
//
// With --staged, as git's hook has it (.githooks/pre-commit), it checks the files that the next commit changes, as they
// are in the folder.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureDependencies } from './ensure-dependencies.mjs';
import { jest } from './test-run/jest.mjs';
import { listNearestTests } from './test-run/nearest-tests.mjs';
import { formatReport, sumSteps } from './test-run/report.mjs';
import { runSteps } from './test-run/run-steps.mjs';
import { listTypeCommands } from './types.mjs';

/** @import { Step } from './test-run/steps.mjs' */

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { base: { type: 'string' }, staged: { type: 'boolean', default: false } } });
ensureDependencies(root);

const changed = values.staged ? listStaged() : listChanged(values.base ?? findBase());
leaveHook();
if (changed.length === 0) {
  console.log(values.staged ? 'no file is staged' : 'no file differs: --base COMMIT compares with another commit');
} else {
  console.log(changed.length === 1 ? '1 changed file' : `${changed.length} changed files`);
  process.exitCode = (await runChecks()) ? 0 : 1;
}

/** @returns {Promise<boolean>} true when all checks succeeded */
async function runChecks() {
  const code = changed.filter((path) => /\.([cm]?js|ts)$/.test(path));
  const tests = listNearestTests(root, changed);
  if (tests.length === 0)
    console.log('no test is near: `npm test` runs those that depend on a change from further away');
  const bin = (/** @type {string} */ name) => join(root, 'node_modules/.bin', name);
  /** @type {(Step & { files: string[] })[]} */
  const steps = [
    { name: 'format', command: [bin('prettier'), '--check', '--ignore-unknown', ...changed], files: changed, cpus: 1 },
    ...listTypeCommands(root, code).map(({ name, command }) => ({ name, command, files: code, cpus: 1 })),
    {
      name: 'nearest tests',
      command: jest('--selectProjects', 'unit', 'conformance', '--maxWorkers', '1', '--runTestsByPath', ...tests),
      counts: 'jest',
      files: tests,
      cpus: 1,
    },
    {
      name: 'lint',
      command: [bin('eslint'), '--max-warnings', '0', '--no-warn-ignored', ...code],
      files: code,
      cpus: 1,
    },
  ];
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-check-'));
  const logs = join(root, 'test-logs');
  mkdirSync(logs, { recursive: true });
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => stop.abort('interrupted'));
  const results = await runSteps(
    steps.filter((step) => step.files.length > 0),
    {
      root,
      folder,
      logs,
      isCi: false,
      signal: stop.signal,
      machine: { cpus: availableParallelism(), memoryGiB: totalmem() / 2 ** 30 },
      print: (line) => console.log(line),
    },
  );
  rmSync(folder, { recursive: true, force: true });
  console.log(formatReport(results, performance.now() / 1000));
  return sumSteps(results).failed === 0;
}

/** The commit at which the branch left main; on main, the last commit. */
function findBase() {
  for (const main of ['main', 'origin/main']) {
    try {
      return git('merge-base', 'HEAD', main).trim();
    } catch {
      // There is no such branch.
    }
  }
  return 'HEAD';
}

/** @param {string} base */
function listChanged(base) {
  const names = [git('diff', '--name-only', '-z', base), git('ls-files', '--others', '--exclude-standard', '-z')];
  return [...new Set(names.flatMap(listThere))].sort();
}

/** The files of the next commit. */
function listStaged() {
  return listThere(git('diff', '--cached', '--name-only', '-z')).sort();
}

/**
 * The paths of git's output that exist.
 * @param {string} text
 */
function listThere(text) {
  return text.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
}

/** Removes the variables by which git names its repository to a hook: tests make repositories of their own. */
function leaveHook() {
  for (const name of git('rev-parse', '--local-env-vars').trim().split('\n')) Reflect.deleteProperty(process.env, name);
}

/** @param {...string} args */
function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}
