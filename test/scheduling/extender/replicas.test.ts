import { sumUse } from '../../../src/core/fit';
import { readNodeTopology } from '../../../src/scheduling/topology/node-topology';
import { createRandom, type Random } from '../../support/random';
import { AWARENESS, podObject, topologyObject, usedBy } from '../topology/objects';
import { startExtender, type Clock, type Extender } from './rig';
import { PODS, StandInCluster, TOPOLOGIES } from './stand-in-cluster';

// Several extenders at once, in orders of requests, answers and watch events that a seed decides.

type Json = Record<string, unknown>;

const nodeOf = (pod: Json | undefined): unknown => (pod?.['spec'] as Json | undefined)?.['nodeName'];
const uidOf = (pod: Json): string => (pod['metadata'] as { uid: string }).uid;

/** The zones in which pods have more CPUs than there are, and pods without a result. */
function findFaults(cluster: StandInCluster): unknown[] {
  return cluster.list(TOPOLOGIES).flatMap((object): unknown[] => {
    const { name, offer } = readNodeTopology(object)!;
    const bound = cluster.list(PODS).filter((pod) => nodeOf(pod) === name);
    const uses = bound.map((pod) => ({ uid: uidOf(pod), use: usedBy(pod) }));
    const used = sumUse(uses.flatMap(({ use }) => use ?? []));
    const full = offer.zones.flatMap((zone) => {
      const cpu = used.get(zone.name)?.get('cpu') ?? 0;
      return cpu > zone.allocatable.get('cpu')! ? [{ name, zone: zone.name, cpu }] : [];
    });
    return [...full, ...uses.filter(({ use }) => !use).map(({ uid }) => ({ name, uid }))];
  });
}

test('given two replicas that bind two pods to the last zone of a node at once: exactly one is bound, in every order', async () => {
  const winners = new Set<string>();
  let conflicts = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const cluster = new StandInCluster(createRandom(seed));
    cluster.put(TOPOLOGIES, topologyObject({ name: 'n', zones: ['4'] }));
    const clock = { nowMs: 0 };
    const extenders = [startExtender(cluster, clock), startExtender(cluster, clock)];
    const pods = ['a', 'b'].map((name) => cluster.put(PODS, podObject(['3'], { uid: name, name })));
    await cluster.settle();
    const outcomes = extenders.map((extender, i) => extender.bind(pods[i]!, 'n'));
    await cluster.settle();
    const isBound = (await Promise.all(outcomes)).map(({ ok }) => ok);
    expect({ seed, isBound: [...isBound].sort(), faults: findFaults(cluster) }).toEqual({
      seed,
      isBound: [false, true],
      faults: [],
    });
    winners.add(isBound.indexOf(true) === 0 ? 'a' : 'b');
    conflicts += extenders.reduce((sum, extender) => sum + extender.conflicts(), 0);
  }
  expect(winners.size).toBe(2);
  expect(conflicts).toBeGreaterThan(50);
});

test('given an extender that is killed between claim and binding: the next one counts the claim, binds the pod, or drops it in time', async () => {
  let kept = 0;
  for (let seed = 1; seed <= 100; seed++) {
    const cluster = new StandInCluster(createRandom(seed));
    const clock = { nowMs: 0 };
    cluster.put(TOPOLOGIES, topologyObject({ name: 'n', zones: ['4'] }));
    const first = startExtender(cluster, clock);
    await cluster.settle();
    const pod = cluster.put(PODS, podObject(['3'], { uid: 'a', name: 'a' }));
    cluster.decide = ({ method }) => {
      if (method === 'POST') first.kill();
      return method === 'POST' ? 'lost' : 'done';
    };
    void first.bind(pod, 'n');
    await cluster.settle();
    cluster.decide = () => 'done';
    const next = startExtender(cluster, clock);
    await cluster.settle();
    const other = cluster.put(PODS, podObject(['3'], { uid: 'b', name: 'b' }));
    const bind = async (request: Json): Promise<boolean> => {
      const outcome = next.bind(request, 'n', { isUnseen: true });
      await cluster.settle();
      return (await outcome).ok;
    };
    expect(await bind(other)).toBe(false);
    kept++;
    if (seed % 2 === 0) {
      expect(await bind(pod)).toBe(true);
      continue;
    }
    clock.nowMs += 120_000;
    const checked = next.checkClaims();
    await cluster.settle();
    await checked;
    expect(await bind(other)).toBe(true);
    expect(findFaults(cluster)).toEqual([]);
  }
  expect(kept).toBe(100);
});

const MINUTE_MS = 60_000;

test.each`
  firstMs            | secondMs           | how
  ${0}               | ${100_000}         | ${'the second is 100 s ahead'}
  ${0}               | ${31 * MINUTE_MS}  | ${'the second is 31 minutes ahead'}
  ${31 * MINUTE_MS}  | ${0}               | ${'the second is 31 minutes behind'}
  ${-40 * MINUTE_MS} | ${500 * MINUTE_MS} | ${'both are wrong, by hours'}
`(
  'given replicas of which $how: the claim of the first counts for the second, until it was there for as long as any claim',
  async ({ firstMs, secondMs }: { firstMs: number; secondMs: number }) => {
    const cluster = new StandInCluster(createRandom(1));
    const clock = { nowMs: 1_000 * MINUTE_MS };
    cluster.put(TOPOLOGIES, topologyObject({ name: 'n', zones: ['4'] }));
    const first = startExtender(cluster, clock, { aheadMs: firstMs });
    const second = startExtender(cluster, clock, { aheadMs: secondMs });
    await cluster.settle();
    const pods = ['a', 'b'].map((name) => cluster.put(PODS, podObject(['3'], { uid: name, name })));
    // The first claims the zone, and its binding is under way for long: its answer is lost.
    cluster.decide = ({ method }) => (method === 'POST' ? 'lost' : 'done');
    void first.bind(pods[0]!, 'n');
    await cluster.settle();
    clock.nowMs += 200;
    cluster.decide = () => 'done';
    const checkAll = async (): Promise<void> => {
      const checks = [first, second].map((extender) => extender.checkClaims());
      await cluster.settle();
      await Promise.all(checks);
    };
    const bindOther = async (): Promise<boolean> => {
      const outcome = second.bind(pods[1]!, 'n', { isUnseen: true });
      await cluster.settle();
      return (await outcome).ok;
    };
    await checkAll();
    expect(await bindOther()).toBe(false);
    clock.nowMs += 100_000; // more than a binding can take: the pod is looked at, and is not bound
    await checkAll();
    expect(await bindOther()).toBe(true);
    expect(findFaults(cluster)).toEqual([]);
  },
);

interface World {
  readonly random: Random;
  readonly cluster: StandInCluster;
  readonly clock: Clock;
  readonly nodes: readonly string[];
  extenders: Extender[];
  readonly answers: { readonly uid: string; readonly node: string; readonly isBound: boolean }[];
  readonly removed: Set<string>;
}

function createWorld(seed: number): World {
  const random = createRandom(seed);
  const cluster = new StandInCluster(random);
  const clock = { nowMs: 1_000_000 };
  const nodes = Array.from({ length: random.int(1, 2) }, (_, i) => `n${i}`);
  for (const name of nodes) {
    const zones = Array.from({ length: random.int(1, 3) }, () => String(random.int(2, 6)));
    cluster.put(TOPOLOGIES, topologyObject({ name, zones }));
  }
  const extenders = [1, 2, 3].map(() => startExtender(cluster, clock));
  return { random, cluster, clock, nodes, extenders, answers: [], removed: new Set() };
}

function createPod({ random, cluster }: World, name: string): Json {
  const cpus = String(random.int(1, 5));
  const annotations = random.chance(0.3) ? { [AWARENESS]: 'false' } : {};
  return cluster.put(PODS, podObject([cpus], { uid: name, name, annotations }));
}

/** Starts a binding of a pod by some replica. Nobody waits for it: a replica may be killed meanwhile. */
function schedule({ random, extenders, nodes, answers }: World, pod: Json): void {
  const node = random.pick(nodes);
  void random
    .pick(extenders)
    .bind(pod, node, { isUnseen: random.chance(0.3) })
    .then(({ ok }) => answers.push({ uid: uidOf(pod), node, isBound: ok }));
}

/** Something happens beside the bindings. */
async function disturb(world: World): Promise<void> {
  const { random, cluster, nodes, clock, removed } = world;
  switch (random.int(0, 6)) {
    case 0: {
      const topology = cluster.get(TOPOLOGIES, random.pick(nodes))!;
      cluster.put(TOPOLOGIES, { ...topology, touched: random.int(0, 1_000_000) });
      return;
    }
    case 1: {
      const pods = cluster.list(PODS);
      if (pods.length === 0) return;
      const pod = random.pick(pods);
      removed.add(uidOf(pod));
      cluster.remove(PODS, pod);
      return;
    }
    case 2: {
      const victim = random.pick(world.extenders);
      victim.kill();
      world.extenders = [...world.extenders.filter((each) => each !== victim), startExtender(cluster, clock)];
      return;
    }
    case 3:
      // No watch is late by as much as a claim stays after its pod was seen.
      await cluster.settle();
      clock.nowMs += random.pick([1_000, 70_000, 100_000]);
      await Promise.all([...world.extenders.map((extender) => extender.checkClaims()), cluster.settle()]);
      return;
    default:
  }
}

test('given replicas that are killed, lose answers, and see each other late: no zone is given out twice, and nothing stays taken', async () => {
  const counts = { bound: 0, refused: 0, lost: 0 };
  for (let seed = 1; seed <= 250; seed++) {
    const world = createWorld(seed);
    const { random, cluster, clock, answers, removed } = world;
    await cluster.settle();
    const badness = random.pick([0, 0.05, 0.2]);
    cluster.decide = ({ method }) => {
      if (method === 'GET' || !random.chance(badness)) return 'done';
      counts.lost++;
      return random.pick(['lost', 'unanswered', 500, 403] as const);
    };
    const pods: Json[] = [];
    for (let turn = 0; turn < 12; turn++) {
      pods.push(createPod(world, `p${turn}`));
      for (let i = random.int(0, 2); i >= 0; i--) schedule(world, random.pick(pods));
      const late = random.chance(0.4) ? random.pick(world.extenders).replica : undefined;
      for (let steps = random.int(0, 25); steps > 0; steps--) {
        clock.nowMs++;
        await cluster.step((replica) => replica === late);
      }
      await disturb(world);
      expect({ seed, turn, faults: findFaults(cluster) }).toEqual({ seed, turn, faults: [] });
    }
    cluster.decide = () => 'done';
    await cluster.settle();
    expect({ seed, faults: findFaults(cluster) }).toEqual({ seed, faults: [] });
    for (const { uid, node, isBound } of answers) {
      counts[isBound ? 'bound' : 'refused']++;
      const pod = cluster.get(PODS, uid, 'default');
      if (isBound && !removed.has(uid)) expect({ seed, uid, node: nodeOf(pod) }).toEqual({ seed, uid, node });
    }
    const last = startExtender(cluster, clock);
    await cluster.settle();
    clock.nowMs += 120_000; // it has seen the claims for so long itself
    await Promise.all([last.checkClaims(), cluster.settle()]);
    await cluster.settle();
    for (const name of world.nodes) {
      const bound = cluster.list(PODS).filter((pod) => nodeOf(pod) === name);
      const expected = sumUse(bound.flatMap((pod) => usedBy(pod) ?? []));
      expect({ seed, used: last.state.usedWithout(name, new Set()) }).toEqual({ seed, used: expected });
    }
  }
  expect(counts.bound).toBeGreaterThan(500);
  expect(counts.refused).toBeGreaterThan(300);
  expect(counts.lost).toBeGreaterThan(100);
});
