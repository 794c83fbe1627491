// `npm run e2e:cluster`: the tests of test/cluster on a real cluster, in a network namespace of their own.
//
// node scripts/cluster/test.mjs [--docs] [ARG...] --docs writes the tables of test/cluster/RESULTS.md; other arguments
// are for jest
//
// Programs are built or fetched first, since the namespace has no way out. Tests whose programs can't be had are listed
// as not run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeVersions, ensureSuite } from '../runtime/suite.mjs';
import { ensureCluster } from './ensure.mjs';
import { ensureKubelet } from './kubelet-programs.mjs';
import { formatTables, updatePage } from './report.mjs';
import { clusterTestCommand } from './test-command.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const suites = ['trixie', 'sid', 'release', 'crio'];
const args = process.argv.slice(2).filter((arg) => arg !== '--docs');
const folder = mkdtempSync(join(tmpdir(), 'cpusetd-cluster-'));
const file = join(folder, 'results.json');
try {
  process.exitCode =
    run(process.execPath, 'scripts/build.mjs', '--if-stale') ||
    run(process.execPath, 'scripts/test-run/prepare.mjs', 'cluster', 'scheduler-plugins', ...suites) ||
    run(...clusterTestCommand('--json', '--outputFile', file, ...args));
  if (process.argv.includes('--docs')) writeTables();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param {string} command
 * @param {string[]} commandArgs
 * @returns {number} its exit status
 */
function run(command, ...commandArgs) {
  // jest prints its results as JSON too, beside the file.
  return spawnSync(command, commandArgs, { cwd: root, stdio: ['inherit', 'ignore', 'inherit'] }).status ?? 1;
}

function writeTables() {
  const page = join(root, 'test/cluster/RESULTS.md');
  const controlPlane = ensureCluster()['kube-apiserver'];
  const nodes = suites.map(
    (suite) =>
      `- \`${suite}\`: ${describeVersions(ensureSuite(suite).versions)}, kubelet ${ensureKubelet(suite).version}`,
  );
  const date = new Date().toISOString().slice(0, 10);
  const head = `${date}, control plane of Kubernetes ${controlPlane}. Seconds of each scenario that held:`;
  const tables = formatTables(JSON.parse(readFileSync(file, 'utf8')));
  writeFileSync(page, updatePage(readFileSync(page, 'utf8'), [nodes.join('\n'), head, tables]));
}
