import { CpuSet } from '../../src/core/cpuset';
import type { RuntimeAnswer, RuntimeEvent } from '../../src/core/model/events';
import { findBrokenInvariants } from '../support/invariants';
import { SimulatedNode } from './simulated-node';
import { EIGHT_CPUS, HISTORY, HistoryContext, SETTINGS } from './node-history';

/** A node whose daemon can also be killed before it receives a message, and before its answer is received. */
class CuttableNode extends SimulatedNode {
  override send(event: RuntimeEvent, live?: ReadonlyMap<string, CpuSet>): RuntimeAnswer | undefined {
    if (this.diesHere()) return undefined;
    const answer = super.send(event, live);
    return this.diesHere() ? undefined : answer;
  }

  private diesHere(): boolean {
    if (this.daemon && --this.effectsUntilCut < 0) this.kill();
    return this.daemon === undefined;
  }
}

/** More cut points than any history has: the difference at the end is their number. */
const NEVER = 1_000_000;

interface Run {
  readonly cutsPassed: number;
  /** Steps after which the daemon was started again. */
  readonly restarts: number;
}

/**
 * Plays the history with a kill at cut point `cut`. The daemon is started again after the step, or `away` steps later;
 * that start is killed at its own cut point `cutOfRestart`, and is followed by one without a kill.
 */
function playHistory(cut: number, { away = 0, cutOfRestart = NEVER } = {}): Run {
  const context = new HistoryContext(new CuttableNode(EIGHT_CPUS, SETTINGS));
  const { node } = context;
  const done: string[] = [];
  let promised = new Map<string, CpuSet>();
  let restarts = 0;
  let downFor = 0;
  const check = (): void => {
    const broken = [...findBrokenInvariants(node), ...findTakenAway(node, promised)];
    if (broken.length > 0) {
      throw new Error(
        `cut ${cut}, away ${away}, restart cut ${cutOfRestart}, after:\n  ${done.join('\n  ')}\n${broken.join('\n')}`,
      );
    }
    if (node.daemon) promised = exclusiveOf(node);
  };
  const restart = (untilCut: number): void => {
    node.effectsUntilCut = untilCut;
    node.start();
    if (node.daemon) node.effectsUntilCut = NEVER;
    done.push(node.daemon ? '(restart)' : '(restart, dies)');
    restarts++;
  };

  node.effectsUntilCut = cut;
  node.start();
  for (const [name, act] of HISTORY) {
    if (!node.daemon && downFor++ >= away) {
      if (restarts === 0 && cutOfRestart !== NEVER) restart(cutOfRestart);
      if (!node.daemon) restart(NEVER);
      check();
    }
    act(context);
    done.push(name);
    // Until the kill all is as in the history without one, which is checked once.
    if (cut === NEVER || restarts > 0 || !node.daemon) check();
    else promised = exclusiveOf(node);
  }
  const cutsPassed = cut - node.effectsUntilCut;
  if (!node.daemon) restart(NEVER);
  check();
  expect(node.daemon!.model.assignments.size).toBe(0);
  expect(node.daemon!.model.sharedPool.toString()).toBe('0-7');
  return { cutsPassed, restarts };
}

const exclusiveOf = ({ daemon }: SimulatedNode): Map<string, CpuSet> =>
  new Map(
    [...daemon!.model.assignments.values()].flatMap(({ containerId, cpus }) =>
      containerId === null ? [] : [[containerId, cpus] as const],
    ),
  );

/**
 * Finds running containers that lost exclusive CPUs which were answered before the kill. CPUs that went offline do not
 * count.
 */
function findTakenAway(node: SimulatedNode, promised: ReadonlyMap<string, CpuSet>): string[] {
  if (!node.daemon) return [];
  const now = exclusiveOf(node);
  return [...promised]
    .filter(
      ([id, cpus]) =>
        node.kernel.has(id) && !cpus.intersect(node.topology.online).isSubsetOf(now.get(id) ?? CpuSet.empty),
    )
    .map(([id, cpus]) => `answered: ${id} had ${cpus.toString()}, has ${now.get(id)?.toString() ?? 'none'}`);
}

const POINTS = playHistory(NEVER).cutsPassed;
const allPoints = Array.from({ length: POINTS }, (_, cut) => cut);

describe(`a history of ${HISTORY.length} steps with ${POINTS} cut points: around each message, save and cgroup write`, () => {
  test('without a kill there is no restart', () => {
    expect(POINTS).toBeGreaterThan(150);
    expect(playHistory(NEVER).restarts).toBe(0);
  });

  test.each([0, 1, 4])('a kill at each of them, and a restart %i steps later: no answered CPU is lost', (away) => {
    for (const cut of allPoints) expect(playHistory(cut, { away }).restarts).toBe(1);
  });

  test('a kill at each of them, and another at each cut point of the restart: no answered CPU is lost', () => {
    let deaths = 0;
    for (const cut of allPoints) {
      for (let cutOfRestart = 0; playHistory(cut, { cutOfRestart }).restarts === 2; cutOfRestart++) deaths++;
    }
    expect(deaths).toBeGreaterThan(POINTS * 2);
  });
});
