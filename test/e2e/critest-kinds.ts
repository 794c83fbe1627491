import type { Suite } from './rig';

/** Facts about critest on one runtime. */
export interface CritestKind {
  /** The tests that are not run, by a part of their names, and the reason of each. */
  readonly notRun: ReadonlyMap<string, string>;
  /** The lowest number of tests that pass directly on the runtime. */
  readonly leastPassed: number;
}

const nowhere = [
  'should receive a callback for container created during the Synchronize call',
  'should receive information about all containers without the race condition during initialization',
].map((name) => [name, 'differs between direct runs: it skips itself when containerd loses a race'] as const);

const notOnCrio = [
  [
    'runtime should support port mapping with host port and container port',
    'waits two minutes for a mapping, which this CRI-O has switched off',
  ],
] as const;

/** Some fewer than pass on a machine that lacks AppArmor and some capabilities. */
const leastPassed: Readonly<Record<Suite, number>> = { trixie: 96, sid: 114, release: 114, crio: 95 };

/** critest on the runtime. */
export const critestKindOf = (suite: Suite): CritestKind => ({
  notRun: new Map([...nowhere, ...(suite === 'crio' ? notOnCrio : [])]),
  leastPassed: leastPassed[suite],
});
