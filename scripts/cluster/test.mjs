// `npm run e2e:cluster`: the tests of test/cluster on a real cluster, in a network namespace of their own. Arguments are for jest.
//
//   node scripts/cluster/test.mjs [ARG...]
//
// Programs are built or fetched first, since the namespace has no way out. Tests whose programs can't be had are listed as not run.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** @param {string} command @param {string[]} args @returns {number} its exit status */
function run(command, ...args) {
  return spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
}

const status =
  run(process.execPath, 'scripts/build.mjs') ||
  run(process.execPath, 'scripts/test-run/prepare.mjs', 'cluster', 'trixie', 'sid', 'release') ||
  run(
    'sh',
    ...['scripts/cluster/own-network.sh', process.execPath, 'node_modules/jest/bin/jest.js'],
    ...['--selectProjects', 'cluster', '--maxWorkers', '2', ...process.argv.slice(2)],
  );
process.exitCode = status;
