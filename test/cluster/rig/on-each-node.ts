import { requireRuntime, type Suite } from '../../e2e/rig';
import { listAsNotRun } from '../../e2e/rig/missing';
import { clusterVariable, whyNotVariable } from './cluster-facts';
import type { Mode } from './cluster-node';

type Tests = (kind: { readonly suite: Suite; readonly mode: Mode }) => void;

const suites: readonly Suite[] = ['trixie', 'sid', 'release'];
const modes: readonly Mode[] = ['nri', 'cri-proxy'];

/**
 * Defines the same tests on a node of each kind: every runtime, with cpusetd as an NRI plugin and as a CRI proxy. CPUSETD_SUITES and
 * CPUSETD_MODES choose among them (names with commas between).
 */
export function onEachNode(title: string, tests: Tests): void {
  for (const suite of suites) for (const mode of modes) defineOn(suite, mode, title, tests);
}

/**
 * Defines tests on one kind of node: for what does not depend on the runtime. It is the newest containerd of CPUSETD_SUITES, with cpusetd
 * as an NRI plugin.
 */
export function onOneNode(title: string, tests: Tests): void {
  const chosen = listChosen('CPUSETD_SUITES');
  const suite = suites.findLast((name) => chosen.length === 0 || chosen.includes(name));
  if (suite !== undefined) defineOn(suite, 'nri', title, tests);
}

function defineOn(suite: Suite, mode: Mode, title: string, tests: Tests): void {
  const chosen = listChosen('CPUSETD_MODES');
  if (chosen.length > 0 && !chosen.includes(mode)) return;
  const define =
    process.env[clusterVariable] === undefined
      ? listAsNotRun('a cluster', process.env[whyNotVariable] ?? 'run npm run e2e:cluster')
      : requireRuntime(suite);
  define(`${title} [${suite}, ${mode}]`, () => tests({ suite, mode }));
}

const listChosen = (variable: string): readonly string[] =>
  (process.env[variable] ?? '').split(',').filter((name) => name !== '');
