// npm run watch: runs the nearest unit and conformance tests of the files that change, until Ctrl-C.
//
// A change during a run ends that run: the next one has the files of both.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './ensure-dependencies.mjs';
import { listNearestTests } from './test-run/nearest-tests.mjs';

/** @import { ChildProcess } from 'node:child_process' */

const root = fileURLToPath(new URL('..', import.meta.url));
const folders = ['bench', 'deploy', 'docs', 'examples', 'proto', 'scripts', 'src', 'test'];
/** Editors write a file in several steps, and a checkout changes many files. */
const quietMs = 100;

ensureDependencies(root);
/** The changed files that no complete run has had. @type {Set<string>} */
const changed = new Set();
/** @type {ChildProcess | undefined} */
let running;
/** @type {() => void} */
let wake = () => undefined;

for (const folder of folders)
  watch(join(root, folder), { recursive: true }, (_kind, name) => {
    if (name === null || !/\.([cm]?[jt]s|md|ya?ml|json|proto)$/.test(name)) return;
    changed.add(`${folder}/${name}`);
    running?.kill();
    wake();
  });
console.log(`watching ${folders.join(', ')}: save a file, and its nearest tests run`);

for (;;) {
  if (changed.size === 0) await new Promise((resolve) => (wake = () => resolve(undefined)));
  await settle();
  const files = [...changed];
  changed.clear();
  if (!(await runTests(files))) for (const file of files) changed.add(file);
}

/** Waits until no more files change. */
async function settle() {
  for (let size = -1; size !== changed.size; await delay(quietMs)) size = changed.size;
}

/**
 * Runs the nearest tests of these files.
 * @param {string[]} files
 * @returns {Promise<boolean>} false when a change ended the run
 */
async function runTests(files) {
  const there = files.filter((path) => existsSync(join(root, path)));
  const tests = listNearestTests(root, there);
  console.log(`\n${there.join(', ')}: ${tests.length === 0 ? 'no test is near' : `${tests.length} test files`}`);
  if (tests.length === 0) return true;
  const args = ['node_modules/jest/bin/jest.js', '--selectProjects', 'unit', 'conformance', '--runTestsByPath'];
  running = spawn(process.execPath, [...args, ...tests], { cwd: root, stdio: 'inherit' });
  const [, signal] = await once(running, 'close');
  running = undefined;
  return signal === null;
}
