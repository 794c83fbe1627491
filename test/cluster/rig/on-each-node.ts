import { requireRuntime, type Suite } from '../../e2e/rig';
import { listAsNotRun } from '../../e2e/rig/missing';
import { clusterVariable, whyNotVariable } from './cluster-facts';
import type { Mode } from './cluster-node';

interface Kind {
  readonly suite: Suite;
  readonly mode: Mode;
}

interface KindOfTests extends Kind {
  /**
   * Defines tests on one of the kinds of each mode: those whose claim depends on the mode, or on neither. `because` says why.
   * Nothing is defined on the other kinds.
   */
  readonly onceInEachMode: (because: string, tests: () => void) => void;
}

/** The reason for which tests run on several kinds of nodes. */
export interface Matrix {
  /**
   * `runtime`: NRI on each runtime, and the CRI proxy before CRI-O and before the oldest containerd. `mode`: a plugin and a proxy, each once.
   */
  readonly dependsOn: 'runtime' | 'mode';
  /** A sentence: the thing in the claims that differs between the kinds. */
  readonly because: string;
}

const suites: readonly Suite[] = ['trixie', 'sid', 'release', 'crio'];
const modes: readonly Mode[] = ['nri', 'cri-proxy'];

/**
 * The kinds of each matrix. NRI differs with each version of a runtime. CRI is one API: CRI-O and containerd 1.7 have code of their own for it, and that
 * of `sid` and `release` is the same. The proxy before `release` is in the matrix of modes.
 */
const matrices: Readonly<Record<Matrix['dependsOn'], readonly Kind[]>> = {
  runtime: [
    ...suites.map((suite) => ({ suite, mode: 'nri' }) as const),
    { suite: 'trixie', mode: 'cri-proxy' },
    { suite: 'crio', mode: 'cri-proxy' },
  ],
  mode: [
    { suite: 'sid', mode: 'nri' },
    { suite: 'release', mode: 'cri-proxy' },
  ],
};

/**
 * Defines the same tests on a node of each kind in the matrix. With CPUSETD_SUITES and CPUSETD_MODES (names with commas between) they are defined on
 * the kinds that these name, in the matrix or not.
 */
export function onEachNode(title: string, matrix: Matrix, tests: (kind: KindOfTests) => void): void {
  const kinds = chooseKinds(matrices[matrix.dependsOn]);
  for (const { suite, mode } of kinds) {
    const ofMode = kinds.filter((kind) => kind.mode === mode);
    const isFirst = suite === (ofMode.find((kind) => kind.suite === 'sid') ?? ofMode[0])?.suite;
    const onceInEachMode: KindOfTests['onceInEachMode'] = (_because, define) => {
      if (isFirst) define();
    };
    defineOn({ suite, mode }, title, () => tests({ suite, mode, onceInEachMode }));
  }
}

/**
 * Defines tests on one kind of node of those that are chosen, for what does not depend on the runtime. `among`: the suites that it may be,
 * the best one first.
 */
export function onOneNode(
  title: string,
  tests: (kind: Kind) => void,
  among: readonly Suite[] = ['release', 'sid', 'trixie', 'crio'],
): void {
  const [suite] = chosenOf(among, suitesVariable);
  const [mode] = chosenOf(modes, modesVariable);
  if (suite !== undefined) return defineOn({ suite, mode: mode! }, title, () => tests({ suite, mode: mode! }));
  const define = listAsNotRun(among.join(' or '), `${suitesVariable} has none of them`);
  define(title, () => tests({ suite: among[0]!, mode: mode! }));
}

function defineOn({ suite, mode }: Kind, title: string, tests: () => void): void {
  const define =
    process.env[clusterVariable] === undefined
      ? listAsNotRun('a cluster', process.env[whyNotVariable] ?? 'run npm run e2e:cluster')
      : requireRuntime(suite);
  define(`${title} [${suite}, ${mode}]`, tests);
}

const suitesVariable = 'CPUSETD_SUITES';
const modesVariable = 'CPUSETD_MODES';

function chooseKinds(ofMatrix: readonly Kind[]): readonly Kind[] {
  if (listNames(suitesVariable).length === 0 && listNames(modesVariable).length === 0) return ofMatrix;
  return chosenOf(suites, suitesVariable).flatMap((suite) =>
    chosenOf(modes, modesVariable).map((mode) => ({ suite, mode })),
  );
}

function chosenOf<Name extends string>(names: readonly Name[], variable: string): readonly Name[] {
  const chosen = listNames(variable);
  return names.filter((name) => chosen.length === 0 || chosen.includes(name));
}

const listNames = (variable: string): string[] =>
  (process.env[variable] ?? '').split(',').filter((name) => name !== '');
