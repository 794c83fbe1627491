import { requireRuntime, type Suite } from '../../e2e/rig';
import { listAsNotRun } from '../../e2e/rig/missing';
import { clusterVariable, whyNotVariable } from './cluster-facts';
import type { Mode } from './cluster-node';

type Tests = (kind: { readonly suite: Suite; readonly mode: Mode }) => void;

const suites: readonly Suite[] = ['trixie', 'sid', 'release', 'crio'];
const modes: readonly Mode[] = ['nri', 'cri-proxy'];

/**
 * Defines the same tests on a node of each kind: every runtime, with cpusetd as an NRI plugin and as a CRI proxy. CPUSETD_SUITES and
 * CPUSETD_MODES choose among them (names with commas between).
 */
export function onEachNode(title: string, tests: Tests): void {
  for (const suite of suites) for (const mode of chosenOf(modes, 'CPUSETD_MODES')) defineOn(suite, mode, title, tests);
}

/** Defines tests on one kind of node of those that are chosen, for what does not depend on the runtime: a new containerd, if possible. */
export function onOneNode(title: string, tests: Tests): void {
  const [suite] = chosenOf(['release', 'sid', 'trixie', 'crio'] as const, 'CPUSETD_SUITES');
  const [mode] = chosenOf(modes, 'CPUSETD_MODES');
  defineOn(suite!, mode!, title, tests);
}

function defineOn(suite: Suite, mode: Mode, title: string, tests: Tests): void {
  const define =
    process.env[clusterVariable] === undefined
      ? listAsNotRun('a cluster', process.env[whyNotVariable] ?? 'run npm run e2e:cluster')
      : requireRuntime(suite);
  define(`${title} [${suite}, ${mode}]`, () => tests({ suite, mode }));
}

function chosenOf<Name extends string>(names: readonly Name[], variable: string): readonly Name[] {
  const chosen = (process.env[variable] ?? '').split(',').filter((name) => name !== '');
  return names.filter((name) => chosen.length === 0 || chosen.includes(name));
}
