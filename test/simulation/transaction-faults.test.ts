import type { NodeEvent, RuntimeAnswer } from '../../src/core/model/events';
import type { NodeView } from '../../src/core/model/node-view';
import { decodeState } from '../../src/state';
import { findBrokenInvariants } from '../support/invariants';
import { createRandom } from '../support/random';
import { InjectedFault, SimulatedNode, type FaultPlace } from './simulated-node';
import { EIGHT_CPUS, HISTORY, HistoryContext, SETTINGS } from './node-history';

const PLACES: readonly FaultPlace[] = ['decide', 'save', 'saved', 'move', 'moved', 'widen', 'report'];

/** A node that records wrong answers. */
class FaultyNode extends SimulatedNode {
  readonly wrong: string[] = [];
  faults = 0;
  refusals = 0;

  /** Throws an exception at every place where `isHere` is true. */
  breakWhere(isHere: (place: FaultPlace, containerId?: string) => boolean): void {
    this.faultAt = (place, containerId) => {
      if (!isHere(place, containerId)) return;
      this.faults++;
      throw new InjectedFault(`an injected exception at ${place}`);
    };
  }

  override send(event: NodeEvent, live?: Parameters<SimulatedNode['send']>[1]): RuntimeAnswer | undefined {
    const before = this.daemon && listAssignments(this.daemon.model);
    const answer = super.send(event, live);
    if (!answer || !this.daemon) return answer;
    const { model, transactor } = this.daemon;
    if (answer.kind === 'refuse') {
      this.refusals++;
      // After an error, nothing has changed.
      if (listAssignments(model) !== before)
        this.wrong.push(`${event.kind} was answered ${answer.code} and changed who has which CPUs`);
      if (event.kind === 'create-container' && model.containers.has(event.container.id))
        this.wrong.push(`${event.container.id} was refused, and is in the model`);
    } else if (event.kind === 'create-container' && !transactor.hasUnsavedState) {
      // After a success, the assignment is on disk.
      const { id } = event.container;
      const held = [...model.assignments.values()].find(({ containerId }) => containerId === id);
      if (held && !this.isOnDisk(id, held.cpus.toString()))
        this.wrong.push(`${id} was given ${held.cpus.toString()}, which is not on disk`);
    } else if (
      event.kind === 'create-container' &&
      [...model.assignments.values()].some((a) => a.containerId === event.container.id)
    )
      this.wrong.push(`${event.container.id} was given CPUs while the disk did not take them`);
    return answer;
  }

  private isOnDisk(id: string, cpus: string): boolean {
    const decoded = decodeState(this.disk ?? '');
    return decoded.ok && decoded.state.assignments.some((a) => a.containerId === id && a.cpus.toString() === cpus);
  }
}

function listAssignments({ assignments }: NodeView): string {
  return [...assignments.values()]
    .map((assignment) => JSON.stringify({ ...assignment, cpus: assignment.cpus.toString() }))
    .sort()
    .join();
}

interface PlayedHistory {
  readonly faults: number;
  readonly refusals: number;
  /** Number of times that each place was passed. */
  readonly passed: Readonly<Record<FaultPlace, number>>;
}

/**
 * Plays the history with exceptions where `isHere` is true. Each step is followed by a round of the reconciler without
 * an exception.
 */
function playHistory(isHere: (place: FaultPlace, count: number, containerId?: string) => boolean): PlayedHistory {
  const node = new FaultyNode(EIGHT_CPUS, SETTINGS);
  const context = new HistoryContext(node);
  const passed = Object.fromEntries(PLACES.map((place) => [place, 0])) as Record<FaultPlace, number>;
  const breakIt = (): void => node.breakWhere((place, containerId) => isHere(place, passed[place]++, containerId));
  breakIt();
  node.start();
  const done: string[] = [];
  for (const [name, act] of HISTORY) {
    act(context);
    done.push(name);
    node.breakWhere(() => false);
    node.sweep();
    if (!node.diskIsFull) node.daemon!.transactor.saveAgain();
    const broken = [...node.wrong, ...findBrokenInvariants(node)];
    if (broken.length > 0) throw new Error(`after:\n  ${done.join('\n  ')}\n${broken.join('\n')}`);
    breakIt();
  }
  node.breakWhere(() => false);
  node.synchronize(); // repeats events that were lost by an exception
  expect(node.daemon!.model.assignments.size).toBe(0);
  expect(node.daemon!.model.sharedPool.toString()).toBe('0-7');
  expect(decodeState(node.disk!)).toMatchObject({ ok: true, state: { assignments: [] } });
  return { faults: node.faults, refusals: node.refusals, passed };
}

const undisturbed = playHistory(() => false);

describe('one exception at each pass of one place: model, disk and answers agree', () => {
  test.each(PLACES)('%s', (place) => {
    const count = undisturbed.passed[place];
    expect(count).toBeGreaterThan(2);
    for (let at = 0; at < count; at++) {
      const { faults } = playHistory((here, i) => here === place && i === at);
      expect(faults).toBe(1);
    }
  });

  test.each<FaultPlace>(['move', 'moved', 'widen', 'report'])('%s: an exception makes no answer an error', (place) => {
    const { faults, refusals } = playHistory((here) => here === place);
    expect(faults).toBeGreaterThan(2);
    expect(refusals).toBe(undisturbed.refusals);
  });

  test('a container that can never be moved: all others are created and moved', () => {
    const moved = new Set<string>();
    playHistory((place, _count, containerId) => place === 'move' && moved.add(containerId!) === undefined);
    expect(moved.size).toBeGreaterThan(2);
    for (const id of moved) {
      const { faults, refusals } = playHistory((place, _count, containerId) => place === 'move' && containerId === id);
      expect(faults).toBeGreaterThan(0);
      expect(refusals).toBe(undisturbed.refusals);
    }
  });
});

test('many exceptions in one history: model, disk and answers agree after every step', () => {
  let faults = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const random = createRandom(seed);
    const often: Readonly<Record<FaultPlace, number>> = {
      decide: 0.003, save: 0.1, saved: 0.1, move: 0.2, moved: 0.1, widen: 0.2, report: 0.2,
    }; // prettier-ignore
    faults += playHistory((place) => random.chance(often[place])).faults;
  }
  expect(faults).toBeGreaterThan(3_000);
});
