import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { findOverload, describeOverload } from '../../src/scheduling/load/filter-by-load';
import { readNodeLoad } from '../../src/scheduling/load/node-load';
import { scoreByLoad } from '../../src/scheduling/load/score-by-load';
import { TimeZone } from '../../src/scheduling/load/time-zone';
import type { SchedulerPolicy } from '../../src/scheduling/policy/policy';
import { fitPod, sumUse, type Fit } from '../../src/core/fit';
import { formatTopologyResult, readCraneOffer, readPodToPlace } from '../../src/kube';
import { scoreFit } from '../../src/scheduling/topology/score-fit';
import { usedBy } from '../scheduling/topology/objects';
import {
  LOAD_COUNT,
  makeLoadInputs,
  makeTopologyInputs,
  type LoadInput,
  type PodObject,
  TOPOLOGY_COUNT,
  type TopologyInput,
} from './crane-scheduler/inputs';

// Our answers beside those of crane-scheduler, recorded for the same inputs: see
// test/fixtures/crane-scheduler/README.md.

const fixture = join(__dirname, '../fixtures/crane-scheduler/answers.jsonl.gz');
const answers = gunzipSync(readFileSync(fixture))
  .toString('utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as unknown);

/** A fault of crane-scheduler that we do not have, and the inputs that it concerns. */
interface Fault<Input> {
  readonly name: string;
  readonly concerns: (input: Input) => boolean;
}

interface Tally {
  concerned: number;
  different: number;
}

/**
 * Compares all pairs. A difference without a fault that concerns its input is returned; all others are counted under
 * the first such fault.
 */
function compare<Input>(
  inputs: Iterable<Input>,
  upstream: readonly unknown[],
  answer: (input: Input) => unknown,
  faults: readonly Fault<Input>[],
): { readonly unexplained: unknown[]; readonly tallies: Map<string, Tally>; readonly equal: number } {
  const tallies = new Map(faults.map(({ name }): [string, Tally] => [name, { concerned: 0, different: 0 }]));
  const unexplained: unknown[] = [];
  let equal = 0;
  let i = 0;
  for (const input of inputs) {
    const [theirs, ours] = [upstream[i++], answer(input)];
    const tally = tallies.get(faults.find(({ concerns }) => concerns(input))?.name ?? '');
    if (tally) tally.concerned++;
    if (JSON.stringify(ours) === JSON.stringify(theirs)) equal++;
    else if (tally) tally.different++;
    else unexplained.push({ input, theirs, ours });
  }
  return { unexplained, tallies, equal };
}

function report(title: string, { tallies, equal }: ReturnType<typeof compare>): void {
  const rows = [...tallies].map(([name, { concerned, different }]) => `  ${name}: ${different} of ${concerned} differ`);
  console.log([`${title}: ${equal} equal`, ...rows].join('\n'));
}

describe('Dynamic', () => {
  const toPolicy = ({ policy }: LoadInput): SchedulerPolicy => ({
    syncPolicy: policy.syncPolicy.map(({ name, period }) => ({ name, periodMs: parseInt(period, 10) * 1_000 })),
    predicate: policy.predicate.map(({ name, maxLimitPecent }) => ({ name, maxLimit: maxLimitPecent })),
    priority: policy.priority,
    hotValue: [],
  });
  const answer = (input: LoadInput): unknown => {
    const policy = toPolicy(input);
    const zone = TimeZone.of(input.tz || 'Asia/Shanghai');
    const load = readNodeLoad(input.annotations, policy, zone);
    const overload = findOverload(policy, load, input.nowMs);
    return { f: overload ? describeOverload(overload, input.node) : '', s: scoreByLoad(policy, load, input.nowMs) };
  };
  const faults: readonly Fault<LoadInput>[] = [
    {
      name: 'weights of 0 divide by zero',
      concerns: ({ policy: { priority } }) => priority.length > 0 && priority.every(({ weight }) => weight === 0),
    },
    {
      name: 'an infinite figure overflows: the score is 100',
      concerns: ({ annotations }) => Object.values(annotations).some((text) => /^\+?Inf,/.test(text)),
    },
    {
      name: 'NaN is taken for a figure',
      concerns: ({ annotations }) => Object.values(annotations).some((text) => text.startsWith('NaN,')),
    },
  ];

  test('given 10,000 random nodes and policies: the same filter and score as crane-scheduler, but for its faults', () => {
    const compared = compare(makeLoadInputs(), answers.slice(0, LOAD_COUNT), answer, faults);
    report('Dynamic', compared);
    expect(compared.unexplained.slice(0, 3)).toEqual([]);
    expect(compared.equal).toBeGreaterThan(LOAD_COUNT * 0.9);
    expect(compared.tallies.get('NaN is taken for a figure')!.different).toBeGreaterThan(0);
  });
});

/** The inputs leave out what the API server gives every pod. */
const named = (pod: PodObject): object => ({ ...pod, metadata: { name: 'p', ...pod.metadata } });

describe('NodeResourceTopologyMatch', () => {
  const answer = ({ topo }: TopologyInput): unknown => {
    const offer = readCraneOffer({
      metadata: { name: 'node', resourceVersion: '1' },
      craneManagerPolicy: {
        cpuManagerPolicy: topo.static ? 'Static' : 'None',
        topologyManagerPolicy: topo.nodeAware ? 'SingleNUMANodePodLevel' : 'None',
      },
      zones: topo.zones,
    });
    const used = sumUse(topo.others.flatMap((pod) => usedBy(named(pod)) ?? []));
    return show(fitPod(readPodToPlace(named(topo.pod), topo.resources)!, offer, used));
  };
  const show = (fit: Fit): unknown => {
    if (fit.kind === 'skip') return { k: 'skip', s: 0 };
    if (fit.kind === 'no-fit') return { k: 'no', s: 0 };
    return { k: 'fit', r: formatTopologyResult(fit.grants), s: scoreFit(fit) };
  };

  const cpuOf = (quantity: string): number =>
    quantity.endsWith('m') ? parseInt(quantity, 10) / 1_000 : Number(quantity);
  const namedCpus = (pod: PodObject): ReadonlyMap<string, number> => {
    try {
      const zones = JSON.parse(pod.metadata.annotations['topology.crane.io/topology-result']!) as {
        name: string;
        type: string;
        resources: { capacity: { cpu: string } };
      }[];
      return new Map(
        zones.filter(({ type }) => type === 'Node').map(({ name, resources }) => [name, cpuOf(resources.capacity.cpu)]),
      );
    } catch {
      return new Map();
    }
  };
  /** Free CPUs of each zone as crane-scheduler counts them. */
  const freeOf = ({ topo }: TopologyInput): number[] =>
    topo.zones.map(({ name, resources }) => {
      const used = topo.others.reduce((sum, pod) => sum + (namedCpus(pod).get(name) ?? 0), 0);
      return cpuOf(resources.allocatable['cpu']!) - used;
    });
  const wantedOf = ({ topo: { pod } }: TopologyInput): number =>
    pod.spec.containers.reduce((sum, { resources: { requests, limits } }) => {
      const cpus = cpuOf(requests['cpu']!);
      return Number.isInteger(cpus) && cpus === cpuOf(limits['cpu']!) ? sum + cpus : sum;
    }, 0);
  const faults: readonly Fault<TopologyInput>[] = [
    { name: 'memory in a result is the number of CPUs', concerns: ({ topo }) => topo.resources.includes('memory') },
    {
      name: 'results are believed beyond what the pod requests',
      concerns: ({ topo }) =>
        topo.others.some((pod) =>
          [...namedCpus(pod).values()].some((cpus) => cpus > cpuOf(pod.spec.containers[0]!.resources.requests['cpu']!)),
        ),
    },
    {
      name: 'an over-used zone adds to what others must give',
      concerns: (input) => freeOf(input).some((free) => free < 0),
    },
    {
      name: 'a zone whose memory is over-used fits no pod, also one that wants none of it',
      concerns: ({ topo }) =>
        topo.zones.some(({ name, resources }) => {
          const users = topo.others.filter((pod) => namedCpus(pod).has(name)).length;
          return users > parseInt(resources.allocatable['memory']!, 10); // each has 1Gi there
        }),
    },
    {
      name: 'a pod that needs more than all zones have passes',
      concerns: (input) => freeOf(input).reduce((sum, free) => sum + Math.floor(free), 0) < wantedOf(input),
    },
    {
      name: 'fractions of CPUs decide between zones',
      concerns: ({ topo }) => topo.zones.some(({ resources }) => resources.allocatable['cpu']!.endsWith('m')),
    },
    { name: 'of equal zones any is taken', concerns: (input) => new Set(freeOf(input)).size < input.topo.zones.length },
  ];

  test('given 5,000 random nodes, zones and pods: the same result and score as crane-scheduler, but for its faults', () => {
    const compared = compare(makeTopologyInputs(), answers.slice(LOAD_COUNT), answer, faults);
    report('NodeResourceTopologyMatch', compared);
    expect(answers).toHaveLength(LOAD_COUNT + TOPOLOGY_COUNT);
    expect(compared.unexplained.slice(0, 3)).toEqual([]);
    const seen = [...compared.tallies].filter(([, { different }]) => different > 0).map(([name]) => name);
    expect(seen).toEqual(faults.map(({ name }) => name).slice(0, 5));
  });
});
