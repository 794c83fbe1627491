import { requireRuntime, type Suite } from '../../e2e/rig';
import { listAsNotRun } from '../../e2e/rig/missing';
import { clusterVariable, whyNotVariable } from './cluster-facts';
import type { Mode } from './cluster-node';

const suites: readonly Suite[] = ['trixie', 'sid', 'release', 'crio'];
const modes: readonly Mode[] = ['nri', 'cri-proxy'];

/**
 * Defines the same tests on a node of each kind: every runtime, with cpusetd as an NRI plugin and as a CRI proxy. CPUSETD_SUITES and
 * CPUSETD_MODES choose among them (names with commas between).
 */
export function onEachNode(title: string, tests: (kind: { readonly suite: Suite; readonly mode: Mode }) => void): void {
  const chosen = (process.env['CPUSETD_MODES'] ?? '').split(',').filter((mode) => mode !== '');
  for (const suite of suites) {
    const define =
      process.env[clusterVariable] === undefined
        ? listAsNotRun('a cluster', process.env[whyNotVariable] ?? 'run npm run e2e:cluster')
        : requireRuntime(suite);
    for (const mode of modes)
      if (chosen.length === 0 || chosen.includes(mode))
        define(`${title} [${suite}, ${mode}]`, () => tests({ suite, mode }));
  }
}
