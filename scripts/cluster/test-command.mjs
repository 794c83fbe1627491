// The command that runs the tests of test/cluster, in a network namespace of their own: their servers are away from the
// host.

/** Test files at once. The tests wait for kubelets more than they work. */
const workers = 3;

/**
 * @param {...string} args of jest
 * @returns {[string, ...string[]]} the command, to be run in the root of the project
 */
export const clusterTestCommand = (...args) => [
  'sh',
  ...['scripts/cluster/own-network.sh', process.execPath, 'node_modules/jest/bin/jest.js'],
  ...['--selectProjects', 'cluster', '--maxWorkers', String(workers), ...args],
];
