import { CpuSet } from '../../src/core/cpuset';
import type { RuntimeAnswer, RuntimeEvent } from '../../src/core/model/events';
import { findBrokenInvariants } from '../support/invariants';
import { SimulatedNode } from './simulated-node';
import { EIGHT_CPUS, HISTORY, SETTINGS, Story } from './node-history';

/** A node that can also die between two messages: before one has reached it, and before its answer is seen. */
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

/** Far more than any history has, so that what is left over tells how many there were. */
const NEVER = 1_000_000;

interface Run {
  readonly cutsPassed: number;
  /** Steps after which the daemon was started again. */
  readonly restarts: number;
}

/**
 * Tells the history with a death at cut point `cut`. The daemon is started again after the step, or `away` steps later;
 * that start dies at its own cut point `cutOfRestart`, and is followed by one that lives.
 */
function tell(cut: number, { away = 0, cutOfRestart = NEVER } = {}): Run {
  const story = new Story(new CuttableNode(EIGHT_CPUS, SETTINGS));
  const { node } = story;
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
    act(story);
    done.push(name);
    check();
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
 * Whoever was answered CPUs of his own before the death, and still runs, has them afterwards; more of them where he was
 * resized meanwhile, and without those that went offline.
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

const POINTS = tell(NEVER).cutsPassed;
const allPoints = Array.from({ length: POINTS }, (_, cut) => cut);

describe(`a history of ${HISTORY.length} steps with ${POINTS} cut points: around each message, save and cgroup write`, () => {
  test('it does what it is about', () => {
    expect(POINTS).toBeGreaterThan(150);
    expect(tell(NEVER).restarts).toBe(0);
  });

  test.each([0, 1, 4])('dies at each of them, and is started again %i steps later', (away) => {
    for (const cut of allPoints) expect(tell(cut, { away }).restarts).toBe(1);
  });

  test('dies at each of them, and once more at each of the cut points of the restart', () => {
    let deaths = 0;
    for (const cut of allPoints) {
      for (let cutOfRestart = 0; tell(cut, { cutOfRestart }).restarts === 2; cutOfRestart++) deaths++;
    }
    expect(deaths).toBeGreaterThan(POINTS * 2);
  });
});
