import { createRandom } from '../../support/random';
import { NodeHistory } from './node-history';

const HISTORIES = 100;
const ROUNDS = 40;

/** Containers whose quota is not the one that the kubelet or cpusetd set. */
function changedIn(history: NodeHistory): readonly string[] {
  return history.containers.filter(({ kernelUs, ownUs }) => kernelUs !== ownUs).map(({ id }) => id);
}

/**
 * Plays a history of load, failed writes, crashes, resizes and pinning, and checks each state. @returns the number of
 * written steps
 */
function playHistory(history: NodeHistory): number {
  let steps = 0;
  for (let round = 0; round < ROUNDS; round++) {
    history.disturb();
    const { written } = history.playRound({ isReliable: false });
    steps += written.length;
    const remembered = new Set(history.throttles.map(({ id }) => id));
    const min = Math.min(...history.minRatios);
    const faults: string[] = [];
    for (const { id, isPinned, kernelUs, ownUs, spec } of history.containers) {
      if (kernelUs === ownUs) continue;
      const { requestMilliCpu = 0, limitMilliCpu = 0 } = spec;
      if (kernelUs < Math.max(1000, requestMilliCpu * 100, limitMilliCpu * min))
        faults.push(`${id} has ${kernelUs} us`);
      if (isPinned) faults.push(`${id} is pinned, and was changed`);
      if (!remembered.has(id)) faults.push(`${id} is forgotten`);
    }
    expect({ round, faults }).toEqual({ round, faults: [] });
  }
  return steps;
}

test('when the load is gone, every quota is the original again after some rounds', () => {
  let steps = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const history = new NodeHistory(createRandom(seed));
    steps += playHistory(history);
    for (const container of history.containers) container.demand = 0;
    for (let round = 0; round < 300 && history.throttles.length > 0; round++) history.playRound({ isReliable: true });
    expect({ seed, changed: changedIn(history), throttles: history.throttles }).toEqual({
      seed,
      changed: [],
      throttles: [],
    });
  }
  expect(steps).toBeGreaterThan(HISTORIES * 5);
});

test('undoing all throttles puts every quota back at once', () => {
  let changed = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const history = new NodeHistory(createRandom(seed));
    playHistory(history);
    changed += changedIn(history).length;
    history.undoAll();
    expect({ seed, changed: changedIn(history) }).toEqual({ seed, changed: [] });
  }
  expect(changed).toBeGreaterThan(HISTORIES / 4);
});
