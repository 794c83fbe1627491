import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import { KINDS } from '../../src/core/model/pool-view';
import { judge } from '../../src/core/verdict/judge';
import { barredCpus, machineOf } from '../../src/core/topology';
import { findBrokenInvariants, findBrokenPromises, takeMoment, type Moment } from '../support/invariants';
import { createRandom, type Random } from '../support/random';
import { ConfinedNode, randomBound } from './confined-node';
import { randomSettings, randomTopology, step } from './random-history';

const HISTORIES = 200;
const STEPS = 60;

interface Counts {
  confined: number;
  pinned: number;
  refused: number;
  barred: number;
}

/** CPUs out of bounds that somebody was promised, given or moved to. `answers`: those of this step. */
function findBarred(node: ConfinedNode, before: Moment | undefined, answers: readonly string[]): string[] {
  if (!node.daemon) return [];
  const { model } = node.daemon;
  const barred = barredCpus(model.topology);
  const broken: string[] = [];
  const check = (what: string, cpus: CpuSet): void => {
    if (cpus.overlaps(barred))
      broken.push(`${what} ${cpus.toString()} has CPUs out of ${model.topology.online.toString()}`);
  };
  check('the shared pool', model.sharedPool);
  check('free', model.free);
  for (const { id, promise } of model.allContainers.values()) {
    if (!promise) continue; // left alone: the kernel narrows it
    check(`the promise of ${id}`, promise.cpus);
    check(`the cgroup of ${id}`, node.kernel.get(id) ?? CpuSet.empty);
  }
  const hadBefore = (podUid: string): CpuSet =>
    CpuSet.unionOf(
      [...(before?.assignments.values() ?? [])].filter((each) => each.podUid === podUid).map((each) => each.cpus),
    );
  for (const [key, { cpus, podUid }] of model.assignments)
    check(`what ${key} was given`, cpus.minus(hadBefore(podUid)));
  for (const answer of answers)
    for (const [, list] of answer.matchAll(/"cpus":"([^"]+)"/g)) check(`the answer ${answer}`, parseCpuList(list!));
  return broken;
}

/** The verdict on an owner of CPUs out of bounds names them. */
function findUnexplained(node: ConfinedNode, counts: Counts): string[] {
  if (!node.daemon) return [];
  const { model } = node.daemon;
  const barred = barredCpus(model.topology);
  return [...model.containers.values()].flatMap((container) => {
    const assignment = model.assignments.get(`${container.podUid}/${container.name}`);
    const cpus = node.kernel.get(container.id);
    const isOwner = assignment?.containerId === container.id && KINDS[assignment.kind].claim !== 'numa-nodes';
    if (!isOwner || !cpus || !assignment.cpus.overlaps(barred)) return [];
    counts.barred++;
    const { kind, because } = judge(model, container, { kind: 'seen', cpus, effective: cpus, mems: CpuSet.empty });
    const lost = assignment.cpus.intersect(barred).toString();
    return kind === 'violated' && !because.includes('overlaps') && !because.includes(`${lost} `)
      ? [`the verdict on ${container.id} does not name ${lost}: ${because}`]
      : [];
  });
}

/**
 * Ends the daemon and starts it again: an owner of CPUs is promised the same, unless annotations of its pod were not
 * known before.
 */
function restart(node: ConfinedNode, switched: ReadonlySet<string>): string[] {
  if (!node.daemon || node.diskIsFull || node.daemon.transactor.hasUnsavedState) return [];
  const list = (): Map<string, string> =>
    new Map(
      [...node.daemon!.model.containers.values()]
        .filter(
          ({ placement, phase, podUid }) => placement === 'exclusive' && phase === 'running' && !switched.has(podUid),
        )
        .map(({ id, promise }) => [id, promise?.cpus.toString() ?? '']),
    );
  const before = list();
  node.kill();
  node.start();
  const after = list();
  return [...before]
    .filter(([id, cpus]) => after.get(id) !== cpus)
    .map(([id, cpus]) => `a restart changed ${id} from ${cpus} to ${after.get(id)}`);
}

function runHistory(seed: number, counts: Counts): void {
  const random: Random = createRandom(seed);
  const machine = randomTopology(random);
  const node = new ConfinedNode(machine, randomSettings(random, machine), randomBound(random, machine));
  node.hasApiServer = random.chance(0.5);
  node.start();
  const done: string[] = [];
  let before = takeMoment(node);
  let resized = false;
  const switched = new Set<string>();
  for (let i = 0; i < STEPS; i++) {
    const known = node.answers.length;
    const isBoundChange = random.chance(0.15);
    if (isBoundChange) node.changeBound(randomBound(random, machineOf(node.topology)));
    const action = isBoundChange ? `bound ${node.topology.online.toString()}` : step(node, random, machine, switched);
    done.push(action);
    resized ||= action === 'resize';
    const broken: string[] = findBarred(node, before, node.answers.slice(known));
    if (!node.daemon) {
      node.diskIsFull = false;
      node.start();
    }
    jest.advanceTimersByTime(50);
    if (random.chance(0.1)) broken.push(...restart(node, switched));
    const after = takeMoment(node);
    broken.push(...findBrokenInvariants(node), ...findUnexplained(node, counts));
    if (before && after) broken.push(...findBrokenPromises(before, after, { resized, switched }));
    if (after) [before, resized] = [after, false];
    if (node.daemon?.model.topology.confinement) counts.confined++;
    counts.pinned = Math.max(counts.pinned, node.daemon?.model.exclusive.size ?? 0);
    counts.refused += node.answers
      .slice(known)
      .filter((answer) => /are online, but the cgroup|is online, but the cgroup/.test(answer)).length;
    if (broken.length > 0) throw new Error(`seed ${seed}, after: ${done.join(', ')}\n${broken.join('\n')}`);
  }
}

// Work after an answer is done when a history advances the timers.
beforeAll(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'Date'] }));
afterAll(() => jest.useRealTimers());

test(`${HISTORIES} random histories of nodes whose cgroups have a changing part of the machine: nothing out of bounds is given, promised or written, and the invariants hold`, () => {
  const counts: Counts = { confined: 0, pinned: 0, refused: 0, barred: 0 };
  for (let seed = 1; seed <= HISTORIES; seed++) runHistory(seed, counts);
  expect(counts.confined).toBeGreaterThan((HISTORIES * STEPS) / 2);
  expect(counts.pinned).toBeGreaterThan(4);
  expect(counts.refused).toBeGreaterThan(HISTORIES / 4);
  expect(counts.barred).toBeGreaterThan(HISTORIES / 4);
});
