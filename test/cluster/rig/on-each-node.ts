import { requireRuntime, type Suite } from '../../e2e/rig';
import { listAsNotRun } from '../../e2e/rig/missing';
import { readChosenNames } from '../../support/chosen-names';
import { clusterVariable, whyNotVariable } from './cluster-facts';
import type { Mode } from './cluster-node';

interface Kind {
  readonly suite: Suite;
  readonly mode: Mode;
}

interface KindOfTests extends Kind {
  /**
   * Defines tests on one of the kinds of each mode: those whose claim depends on the mode, or on neither. `because`
   * says why. Nothing is defined on the other kinds.
   */
  readonly onceInEachMode: (because: string, tests: () => void) => void;
}

/** The reason for which tests run on several kinds of nodes. */
export interface Matrix {
  /**
   * `runtime`: NRI on each runtime, and the CRI proxy before CRI-O and before the oldest containerd. `mode`: a plugin
   * and a proxy, each once.
   */
  readonly dependsOn: 'runtime' | 'mode';
  /** A sentence: the thing in the claims that differs between the kinds. */
  readonly because: string;
}

const suites: readonly Suite[] = ['trixie', 'sid', 'release', 'crio'];
const modes: readonly Mode[] = ['nri', 'cri-proxy'];

/**
 * The kinds of each matrix. NRI differs with each version of a runtime. CRI is one API: CRI-O and containerd 1.7 have
 * code of their own for it, and that of `sid` and `release` is the same. The proxy before `release` is in the matrix of
 * modes.
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
 * Defines the same tests on a node of each kind in the matrix. With CPUSETD_SUITES and CPUSETD_MODES (names with commas
 * between) they are defined on the kinds that these name, in the matrix or not.
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
 * Defines tests on one kind of node of those that are chosen, for what does not depend on the runtime. `among`: the
 * suites that it may be, the best one first.
 */
export function onOneNode(
  title: string,
  tests: (kind: Kind) => void,
  among: readonly Suite[] = ['release', 'sid', 'trixie', 'crio'],
): void {
  const chosen = readChosenNames(suitesVariable, suites) ?? suites;
  const suite = among.find((each) => chosen.includes(each));
  const mode = (readChosenNames(modesVariable, modes) ?? modes)[0]!;
  if (suite !== undefined) return defineOn({ suite, mode }, title, () => tests({ suite, mode }));
  const define = listAsNotRun(among.join(' or '), `${suitesVariable} has none of them`);
  define(title, () => tests({ suite: among[0]!, mode }));
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
  const chosen = [readChosenNames(suitesVariable, suites), readChosenNames(modesVariable, modes)] as const;
  if (chosen.every((names) => names === undefined)) return ofMatrix;
  const [ofSuites = suites, ofModes = modes] = chosen;
  return ofSuites.flatMap((suite) => ofModes.map((mode) => ({ suite, mode })));
}
