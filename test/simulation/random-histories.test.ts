import { findBrokenInvariants, findBrokenPromises, findLostCpus, takeMoment } from '../support/invariants';
import { createRandom } from '../support/random';
import { randomSettings, randomTopology, step } from './random-history';
import { SimulatedNode } from './simulated-node';

const HISTORIES = 400;
const STEPS = 60;
/** The limit for the state of such a small node, whatever tenants write. */
const MAX_DOCUMENT_LENGTH = 2 ** 20;

/** Runs one history; returns the answers given. Throws with the steps that led to a broken invariant. */
function runHistory(seed: number): {
  answers: string[];
  steps: number;
  cuts: number;
  pinned: number;
  kept: number;
  kinds: string[];
  switches: number;
} {
  const random = createRandom(seed);
  const full = randomTopology(random);
  const node = new SimulatedNode(full, randomSettings(random, full), true);
  node.hasApiServer = true;
  node.start();
  const done: string[] = [];
  let cuts = 0;
  let pinned = 0;
  const kinds = new Set<string>();
  let before = takeMoment(node);
  let resized = false;
  let kept = 0;
  /** True when a step asked for CPUs, or for others. */
  let asked = false;
  const switched = new Set<string>();
  for (let i = 0; i < STEPS; i++) {
    const action = step(node, random, full, switched);
    done.push(action);
    resized ||= action === 'resize';
    if (!node.daemon && random.chance(0.6)) {
      cuts++;
      node.diskIsFull = false;
      // The restart itself may be cut as well.
      if (random.chance(0.3)) node.effectsUntilCut = random.int(0, 3);
      node.start();
      done.push(node.daemon ? 'restarted' : 'restart cut');
    }
    const after = takeMoment(node);
    const broken = [...findBrokenInvariants(node), ...node.unnamedLines];
    if ((node.disk?.length ?? 0) > MAX_DOCUMENT_LENGTH) broken.push(`the state has ${node.disk?.length} characters`);
    // Often the next event comes before the work that follows an answer.
    if (random.chance(0.5)) {
      jest.advanceTimersByTime(50); // each turn of the event loop takes a millisecond here
      broken.push(...(node.daemon?.observers?.findBroken({ isSettled: true }) ?? []));
    }
    if (before && after) broken.push(...findBrokenPromises(before, after, { resized, switched }));
    asked ||= /^api|create|creation|resize/.test(action);
    if (before && after && !asked) {
      broken.push(...findLostCpus(before, after, switched));
      kept += after.kept.size;
    }
    if (after) [before, resized, asked] = [after, false, false];
    for (const { kind, scope } of after?.assignments.values() ?? []) kinds.add(scope ? `${kind} of a pod` : kind);
    if (broken.length > 0) {
      throw new Error(
        `seed ${seed}, after: ${done.join(', ')}\n${broken.join('\n')}\nlast answers:\n${node.answers.slice(-3).join('\n')}`,
      );
    }
    pinned = Math.max(pinned, node.daemon?.model.exclusive.size ?? 0);
  }
  return { answers: node.answers, steps: done.length, cuts, pinned, kept, kinds: [...kinds], switches: node.switches };
}

// Work after an answer is done when a history advances the timers.
beforeAll(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'Date'] }));
afterAll(() => jest.useRealTimers());

test(`${HISTORIES} random histories with kills between any two effects: after every step invariants 1-6 and 8-10 hold, the status agrees, and every log line names its container`, () => {
  let steps = 0;
  let cuts = 0;
  let pinned = 0;
  let switches = 0;
  let kept = 0;
  const kinds = new Map<string, number>();
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const history = runHistory(seed);
    steps += history.steps;
    cuts += history.cuts;
    pinned += history.pinned;
    switches += history.switches;
    kept += history.kept;
    for (const kind of history.kinds) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    // Invariant 3: an empty list never leaves the process.
    expect(history.answers.filter((answer) => /"(cpus|mems)":""/.test(answer))).toEqual([]);
  }
  // The histories do have kills, pinned containers, switches and kept CPUs.
  expect(cuts).toBeGreaterThan(HISTORIES / 2);
  expect(pinned).toBeGreaterThan(HISTORIES);
  expect(steps).toBeGreaterThan(HISTORIES * STEPS);
  expect(switches).toBeGreaterThan(HISTORIES / 4);
  expect(kept).toBeGreaterThan(HISTORIES);
  const often = [...kinds].filter(([, histories]) => histories > HISTORIES / 20).map(([kind]) => kind);
  expect(often.sort()).toEqual([
    'exclusive', 'exclusive of a pod', 'immovable', 'immovable of a pod', 'numa', 'static',
  ]); // prettier-ignore
});

test('invariant 7: the same history gives the same answers', () => {
  for (const seed of [3, 17, 42, 99]) expect(runHistory(seed).answers).toEqual(runHistory(seed).answers);
});
