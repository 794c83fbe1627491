import { sumPodCpus } from '../../../src/core/model/pod-cpus';
import type { ContainerKind } from '../../../src/core/model/pod-kinds';
import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { findBrokenSets } from '../../support/invariants';
import { createRandom, type Random } from '../../support/random';
import { specOf } from '../../support/spec-of';
import { NodeDriver, type Rules } from './node-driver';

const SEEDS = 400;

interface RandomContainer {
  readonly name: string;
  readonly kind: ContainerKind;
  readonly cpus: number;
}

interface RandomPod {
  readonly uid: string;
  readonly containers: readonly RandomContainer[];
}

function randomTopology(random: Random): Topology {
  const numaNodes = random.int(1, 2);
  const coresPerNode = random.int(2, 5);
  const threads = random.int(1, 2);
  const cores = numaNodes * coresPerNode;
  return buildTopology({
    cpus: Array.from({ length: cores * threads }, (_, id) => {
      const numaNode = Math.floor((id % cores) / coresPerNode);
      return { id, core: id % cores, numaNode, socket: numaNode, uncoreCache: numaNode };
    }),
  });
}

function randomRules(random: Random, topology: Topology): Rules {
  const policy = random.pick(['none', 'none', 'best-effort', 'restricted', 'single-numa-node'] as const);
  const options = random.pick([
    {},
    {},
    { fullPcpusOnly: true },
    { distributeCpusAcrossNuma: true },
    { distributeCpusAcrossCores: true },
    { preferAlignCpusByUncorecache: true },
  ]);
  return {
    reserved: String(topology.online.first),
    options: { ...NO_OPTIONS, ...options },
    ...(policy !== 'none' && {
      topologyManager: {
        policy,
        scope: random.pick(['container', 'pod']),
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    }),
  };
}

function randomPod(random: Random, uid: string): RandomPod {
  const ofKind = (kind: ContainerKind, most: number): RandomContainer[] =>
    Array.from({ length: random.int(0, most) }, (_, i) => ({
      name: `${kind}${i}`,
      kind,
      cpus: random.pick([0, 1, 1, 2, 2, 3, 4]),
    }));
  const before = random.chance(0.5)
    ? [...ofKind('init', 2), ...ofKind('sidecar', 1)]
    : [...ofKind('sidecar', 1), ...ofKind('init', 2)];
  return { uid, containers: [...before, { name: 'main', kind: 'app', cpus: random.int(1, 4) }, ...ofKind('app', 2)] };
}

const specFor = ({ uid, containers }: RandomPod, ended: ReadonlySet<string> = new Set()) =>
  specOf(
    uid,
    containers.map(({ name, kind, cpus }) => `${name} ${kind} ${cpus}${ended.has(name) ? '!' : ''}`).join(','),
  );

function startNode(topology: Topology, rules: Rules): NodeDriver {
  const node = new NodeDriver(topology, rules);
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  return node;
}

const ownOf = (node: NodeDriver, uid: string): CpuSet =>
  CpuSet.unionOf(node.model.assignmentsOf(uid).map(({ cpus }) => cpus));

/** True when the pod has all CPUs that it asks for. */
const isPlanned = (node: NodeDriver, { uid, containers }: RandomPod): boolean =>
  !node.model.unplanned.has(uid) && (!ownOf(node, uid).isEmpty || containers.every(({ cpus }) => cpus === 0));

/** Creates the pod's containers as the kubelet does, and calls `between` before each. Returns the refused ones. */
function runPod(node: NodeDriver, pod: RandomPod, between: () => void = () => undefined): string[] {
  const refused: string[] = [];
  for (const { name, kind, cpus } of pod.containers) {
    between();
    node.run(`ask ${pod.uid}/${name} ${cpus}`);
    if (node.answer?.kind === 'refuse') refused.push(`${name}: ${node.answer.message}`);
    else if (cpus > 0) {
      const got = node.model.assignments.get(`${pod.uid}/${name}`)?.cpus.size ?? 0;
      if (got !== cpus) refused.push(`${name} has ${got} CPUs, not ${cpus}`);
    }
    node.run(`created ${pod.uid}/${name}; start ${pod.uid}/${name}`);
    if (kind === 'init') node.run(`end ${pod.uid}/${name}`);
  }
  return refused;
}

test(`a planned pod is never refused a container, for any events in between: ${SEEDS} seeds`, () => {
  let planned = 0;
  let withInit = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = createRandom(seed);
    const topology = randomTopology(random);
    const rules = randomRules(random, topology);
    const node = startNode(topology, rules);
    const pod = randomPod(random, 'p');
    let others = 0;
    const competitors: string[] = [];
    const between = (): void => {
      for (let i = random.int(0, 3); i > 0; i--) {
        const gone = competitors.length > 0 && random.chance(0.4) ? random.pick(competitors) : undefined;
        if (gone !== undefined) node.run(`remove ${gone}`);
        else {
          competitors.push(`q${++others}`);
          if (random.chance(0.3)) node.send({ kind: 'pod-spec', spec: specFor(randomPod(random, `q${others}`)) });
          else node.run(`make q${others}/x ${random.int(1, 4)}`);
        }
        if (random.chance(0.2)) node.send({ kind: 'pod-spec', spec: specFor(pod) }); // the same spec again
        if (random.chance(0.1)) node.run('pod p s2; stop p; remove p'); // a new sandbox
      }
    };
    between();
    node.send({ kind: 'pod-spec', spec: specFor(pod) });
    if (!isPlanned(node, pod)) continue;
    planned++;
    if (pod.containers.some(({ kind, cpus }) => kind === 'init' && cpus > 0)) withInit++;
    const owned = ownOf(node, 'p');
    const refused = runPod(node, pod, between);
    expect({ seed, refused, broken: findBrokenSets(node.model) }).toEqual({ seed, refused: [], broken: [] });
    expect({ seed, beyond: ownOf(node, 'p').minus(owned).toString() }).toEqual({ seed, beyond: '' });
  }
  expect(planned).toBeGreaterThan(SEEDS / 3);
  expect(withInit).toBeGreaterThan(SEEDS / 8);
});

test(`given an idle node, then a plan has the CPUs that single decisions would give: ${SEEDS} seeds`, () => {
  let compared = 0;
  const differing: number[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = createRandom(seed);
    const topology = randomTopology(random);
    const rules = randomRules(random, topology);
    const pod = randomPod(random, 'p');
    const known = startNode(topology, rules);
    known.send({ kind: 'pod-spec', spec: specFor(pod) });
    if (!isPlanned(known, pod)) continue;
    const unknown = startNode(topology, rules);
    if (rules.topologyManager?.scope === 'pod') continue; // without the spec the first container is decided on alone
    const sets = (node: NodeDriver): string[] => {
      const got: string[] = [];
      for (const container of pod.containers) {
        runPod(node, { uid: 'p', containers: [container] });
        got.push(`${container.name} ${node.model.assignments.get(`p/${container.name}`)?.cpus.toString() ?? ''}`);
      }
      return got;
    };
    compared++;
    const [a, b] = [sets(known), sets(unknown)];
    if (a.join() !== b.join()) differing.push(seed);
  }
  expect(compared).toBeGreaterThan(SEEDS / 3);
  expect(differing).toEqual([]);
});

/** Creates pods whose specs come before, after or between their creations, and tries again until nothing changes. */
test(`given pods that ask for too many CPUs together, then they never block each other: ${SEEDS} seeds`, () => {
  let crowded = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = createRandom(seed);
    const topology = randomTopology(random);
    const node = startNode(topology, { reserved: String(topology.online.first) });
    const waiting = Array.from({ length: random.int(2, 4) }, (_, i) => randomPod(random, `p${i}`)).filter(
      ({ containers }) => fitsAlone(node, containers),
    );
    const announced = new Set<string>();
    /** Containers of each pod that are still to be made, in order; init containers end at once. */
    const rest = new Map(waiting.map((pod) => [pod.uid, [...pod.containers]]));
    const tryNext = ({ uid }: RandomPod): boolean => {
      const queue = rest.get(uid)!;
      const [next] = queue;
      if (!next) return false;
      node.run(`make ${uid}/${next.name} ${next.cpus}`);
      if (node.answer?.kind === 'refuse') {
        // The kubelet goes on with the pod's other app containers.
        const other = next.kind === 'app' && queue.length > 1 ? queue.splice(1, 1)[0]! : undefined;
        if (other) queue.unshift(other);
        return false;
      }
      if (next.kind === 'init') node.run(`end ${uid}/${next.name}`);
      queue.shift();
      return true;
    };
    for (let i = 0; i < 40; i++) {
      const pod = waiting.length > 0 ? random.pick(waiting) : undefined;
      if (!pod) break;
      if (!announced.has(pod.uid)) {
        announced.add(pod.uid);
        node.send({ kind: 'pod-spec', spec: specFor(pod) });
      } else tryNext(pod);
    }
    // Creates all that can still be created; complete pods go, one at a time.
    while (waiting.length > 0) {
      for (const pod of waiting) {
        if (!announced.has(pod.uid)) node.send({ kind: 'pod-spec', spec: specFor(pod) });
        announced.add(pod.uid);
      }
      for (let moved = true; moved;) moved = waiting.map(tryNext).includes(true);
      const complete = waiting.findIndex(({ uid }) => rest.get(uid)!.length === 0);
      const held = waiting.map(({ uid }) => `${uid}: ${ownOf(node, uid).toString()}`);
      if (complete < 0) throw new Error(`seed ${seed}: no pod can go on: ${held.join('; ')}`);
      if (waiting.length > 1 && waiting.some(({ uid }) => ownOf(node, uid).isEmpty)) crowded++;
      const [gone] = waiting.splice(complete, 1);
      node.run(`remove ${gone!.uid}`);
      node.send({ kind: 'pod-spec-gone', uid: gone!.uid });
      expect(findBrokenSets(node.model)).toEqual([]);
    }
    expect(node.state).toBe(`pool ${topology.online.toString()}`);
  }
  expect(crowded).toBeGreaterThan(SEEDS / 4);
});

function fitsAlone(node: NodeDriver, containers: readonly RandomContainer[]): boolean {
  return sumPodCpus(containers) <= node.model.free.size;
}
