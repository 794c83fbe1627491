import { chooseReserved, allocateByOptions } from '../../src/core/allocation';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import { inferCpuRequest } from '../../src/core/inference/infer-cpu-request';
import type { CpuResources } from '../../src/core/model/events';
import { NO_OPTIONS, optionNames, type StaticPolicyOptions } from '../../src/core/model/settings';
import {
  MAX_ALLOWABLE_NUMA_NODES,
  MIN_ALLOWABLE_NUMA_NODES,
  parseTopologyManagerOptions,
} from '../../src/core/options/topology-manager-options';
import { parseStaticPolicyOptions } from '../../src/core/options/static-policy-options';
import { MACHINES } from './machines';
import { listExamples, readPage, readTable } from './markdown';
import { play, showExample, showOutcomes, type Example } from './play';

/** Names of all options of the static policy. */
const OPTIONS = optionNames(
  Object.fromEntries(Object.keys(NO_OPTIONS).map((key) => [key, true])) as unknown as StaticPolicyOptions,
);

function withAndWithout(
  option: string,
  without: readonly string[],
  expected: readonly string[],
  shown: { readonly isShown?: false } = {},
): Example['cases'] {
  return [
    { label: 'without', expected: without, ...shown },
    { label: option, options: [option], expected },
  ];
}

/** Each picture of the page: a machine, what is taken on it, what is asked, and what must come out. */
const EXAMPLES: Readonly<Record<string, Example>> = {
  packed: {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [{ name: 'app', cpus: 3 }],
    cases: [{ label: 'no option', expected: ['1-2,9'] }],
  },
  ownership: {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [
      { name: 'init', cpus: 4, exits: true },
      { name: 'app', cpus: 2 },
    ],
    cases: [{ label: 'init has exited when app comes', expected: ['1-2,9-10', '1,9'] }],
  },
  'ownership-odd': {
    machine: 'two-sockets',
    reserved: '0',
    asks: [
      { name: 'init', cpus: 1, exits: true },
      { name: 'app', cpus: 2 },
    ],
    cases: [{ label: 'init has exited when app comes', expected: ['8', '1,9'] }],
  },
  'full-pcpus-only': {
    machine: 'two-sockets',
    reserved: '0,8',
    others: '1-7',
    asks: [{ name: 'app', cpus: 2 }],
    cases: withAndWithout('full-pcpus-only', ['9-10'], ['refused']),
  },
  'full-pcpus-only-odd': {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [{ name: 'app', cpus: 3 }],
    cases: withAndWithout('full-pcpus-only', ['1-2,9'], ['refused'], { isShown: false }), // as `packed`
  },
  'distribute-cpus-across-numa': {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [{ name: 'app', cpus: 10 }],
    cases: withAndWithout('distribute-cpus-across-numa', ['1,4-7,9,12-15'], ['1-6,9-10,12-13']),
  },
  'distribute-cpus-across-cores': {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [{ name: 'app', cpus: 3 }],
    cases: withAndWithout('distribute-cpus-across-cores', ['1-2,9'], ['1-3'], { isShown: false }), // as `packed`
  },
  'align-by-socket': {
    machine: 'four-nodes',
    reserved: '0',
    others: '2,5,7',
    asks: [{ name: 'app', cpus: 4 }],
    cases: [
      { label: 'without', topologyManager: { policy: 'restricted' }, expected: ['refused'] },
      {
        label: 'align-by-socket',
        topologyManager: { policy: 'restricted' },
        options: ['align-by-socket'],
        expected: ['1,3,9,11'],
      },
    ],
  },
  'strict-cpu-reservation': {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [{ name: 'app', cpus: 4 }],
    showsPool: true,
    cases: withAndWithout('strict-cpu-reservation', ['1-2,9-10'], ['1-2,9-10']),
  },
  'prefer-align-cpus-by-uncorecache': {
    machine: 'four-caches',
    reserved: '0,8',
    asks: [{ name: 'app', cpus: 4 }],
    cases: withAndWithout('prefer-align-cpus-by-uncorecache', ['1-2,9-10'], ['2-3,10-11']),
  },
  floor: {
    machine: 'two-sockets',
    reserved: '0,8',
    others: '1-2,4-7,9-10,12-15',
    asks: [{ name: 'app', cpus: 2 }],
    cases: [{ label: 'strict-cpu-reservation', options: ['strict-cpu-reservation'], expected: ['refused'] }],
  },
  'topology-manager': {
    machine: 'two-sockets',
    reserved: '0,8',
    others: '1-2,9-10',
    asks: [{ name: 'app', cpus: 4 }],
    cases: [
      { label: 'none', expected: ['3-4,11-12'] },
      {
        label: 'best-effort, restricted and single-numa-node alike',
        topologyManager: { policy: 'best-effort' },
        expected: ['4-5,12-13'],
      },
    ],
  },
  'topology-manager-refusal': {
    machine: 'two-sockets',
    reserved: '0,8',
    others: '1-2,4-6,9-10,12-14',
    asks: [{ name: 'app', cpus: 4 }],
    cases: [
      { label: 'best-effort', topologyManager: { policy: 'best-effort' }, expected: ['3,7,11,15'] },
      { label: 'restricted', topologyManager: { policy: 'restricted' }, expected: ['refused'] },
      { label: 'single-numa-node', topologyManager: { policy: 'single-numa-node' }, expected: ['refused'] },
    ],
  },
  scope: {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [
      { name: 'one', cpus: 4 },
      { name: 'two', cpus: 4 },
    ],
    cases: [
      {
        label: 'scope container',
        topologyManager: { policy: 'single-numa-node', scope: 'container' },
        expected: ['1-2,9-10', '4-5,12-13'],
      },
      {
        label: 'scope pod',
        topologyManager: { policy: 'single-numa-node', scope: 'pod' },
        expected: ['4-5,12-13', '6-7,14-15'],
      },
    ],
  },
  'memory-nodes': {
    machine: 'two-sockets',
    reserved: '0,8',
    asks: [
      { name: 'small', cpus: 2, memoryGib: 6 },
      { name: 'large', cpus: 2, memoryGib: 6 },
    ],
    cases: [{ label: 'memory-nodes follow, 8 GiB in each node', memoryNodes: 'follow', expected: ['1,9', '2,10'] }],
  },
};

/**
 * With UPDATE_DOCS=1 the pictures are written into the page instead of being compared, as jest -u does with snapshots.
 */
const page = readPage('policies.md', process.env['UPDATE_DOCS'] ? (name) => showExample(EXAMPLES[name]!) : undefined);

describe.each(Object.entries(EXAMPLES))('example %s', (name, example) => {
  test.each(example.cases.map((chosen) => [chosen.label, chosen] as const))(
    '%s: the code gives these CPUs',
    (_, entry) => {
      expect(showOutcomes(play(example, entry))).toEqual(entry.expected);
    },
  );

  test('the page shows what the code gives', () => {
    expect(listExamples(page).get(name)).toBe(showExample(example));
  });
});

test('the page shows no other example', () => {
  expect([...listExamples(page).keys()].filter((name) => !(name in EXAMPLES))).toEqual([]);
});

test('where restricted and single-numa-node are said to do as best-effort does, they do', () => {
  const example = EXAMPLES['topology-manager']!;
  for (const policy of ['restricted', 'single-numa-node'] as const) {
    const outcome = play(example, { label: policy, topologyManager: { policy }, expected: [] });
    expect(showOutcomes(outcome)).toEqual(['4-5,12-13']);
  }
});

test('what the page says of the kubelet and idle CPUs is what its rule gives: they may be taken, and are not preferred', () => {
  const { topology } = MACHINES['two-sockets'];
  const candidates = topology.online.minus(parseCpuList('0')); // 0 is reserved; 8, of the exited container, is among them
  const chosen = allocateByOptions(topology, NO_OPTIONS, candidates, 2);
  expect(chosen).toMatchObject({ ok: true });
  expect(chosen.ok && chosen.cpus.toString()).toBe('1,9');
  expect(page.replace(/\s+/g, ' ')).toContain('gives it `1,9` and keeps 8 blocked');
});

describe('options', () => {
  test.each(OPTIONS)('%s has a chapter and an example', (option) => {
    const hasChapter = page.includes(`\n### \`${option}\`\n`);
    expect({ hasChapter, hasExample: option in EXAMPLES }).toEqual({ hasChapter: true, hasExample: true });
  });

  test('the pairs that exclude each other are those of the code', () => {
    const isRefused = (pair: readonly string[]) =>
      !parseStaticPolicyOptions(new Map(pair.map((name) => [name, 'true']))).ok;
    const excluded = OPTIONS.flatMap((option, i) =>
      OPTIONS.slice(i + 1)
        .filter((other) => isRefused([option, other]))
        .map((other) => `${option} + ${other}`),
    );
    const listed = readTable(page, '### Options that exclude each other')
      .filter(([, other]) => OPTIONS.includes(other!))
      .map(([first, second]) => [first, second].sort().join(' + '));
    expect(listed.sort()).toEqual(excluded.sort());
  });

  test('the options of the topology manager are those of the code', () => {
    const refused = parseTopologyManagerOptions(new Map([['nope', 'x']]));
    const known = refused.ok ? [] : refused.problem.because.replace(/^.*options are /, '').split(', ');
    const listed = readTable(page, '### Options of the topology manager').map(([name]) => name!);
    expect(listed.sort()).toEqual(known.sort());
    expect(page).toContain(`from ${MIN_ALLOWABLE_NUMA_NODES} to ${MAX_ALLOWABLE_NUMA_NODES}`);
  });
});

test.each(readTable(page, '### By quantity').map(([quantity, cpus]) => [Number(quantity), cpus!]))(
  'a reservation of %d takes %s',
  (count, cpus) => {
    const chosen = chooseReserved(MACHINES['two-sockets'].topology, NO_OPTIONS, { count });
    expect(chosen).toMatchObject({ ok: true });
    expect((chosen.ok ? chosen.reserved : CpuSet.empty).toString()).toBe(cpus);
  },
);

describe('who gets exclusive CPUs', () => {
  const UID = '8f3c1a52-0f7e-4d0e-9b0e-1c2d3e4f5a6b';
  const GIB = 2 ** 30;
  const two = { shares: 2048, quotaUs: 200_000, periodUs: 100_000, memoryLimitBytes: 4 * GIB };

  interface Seen extends CpuResources {
    readonly parent?: string;
    readonly podShares?: number;
  }

  /** The message of each row of the table, in its order. */
  const SEEN: readonly Seen[] = [
    two,
    { ...two, quotaUs: 0 },
    { ...two, shares: 1536, quotaUs: 150_000 },
    { ...two, shares: 2, quotaUs: 0 },
    { ...two, parent: `/kubepods/burstable/pod${UID}` },
    { ...two, parent: `/kubepods/besteffort/pod${UID}`, shares: 2, quotaUs: 0, memoryLimitBytes: 0 },
    { ...two, shares: 262_144, quotaUs: 30_000_000 },
    { ...two, shares: 262_144, quotaUs: 0 },
    { ...two, podShares: 4096 },
    { ...two, podShares: 4096, memoryLimitBytes: 2 * two.memoryLimitBytes },
    { ...two, quotaUs: 400_000 },
    { ...two, memoryLimitBytes: 0 },
    { ...two, podShares: 1024 },
    { ...two, parent: '' },
    { ...two, quotaUs: -1 },
  ];

  const rows = readTable(page, '## Who gets exclusive CPUs');

  test('the table has as many rows as there are messages', () => expect(rows).toHaveLength(SEEN.length));

  test.each(rows.map(([what, cpus, says], i) => [what!, cpus!, says!, SEEN[i]!] as const))(
    '%s: %s',
    (_what, cpus, says, { parent = `/kubepods/pod${UID}`, podShares, ...resources }) => {
      const request = inferCpuRequest(
        {
          sandboxId: 'sandbox',
          uid: UID,
          namespace: 'default',
          name: 'pod',
          annotations: {},
          cgroupParent: parent,
          ...(podShares !== undefined && { podResources: { shares: podShares } }),
        },
        {
          id: 'container',
          sandboxId: 'sandbox',
          name: 'app',
          phase: 'creating',
          cgroupsPath: '',
          resources,
          oomScoreAdj: -997,
        },
      );
      expect(request.because).toBe(says);
      const doubt = request.kind === 'shared' && request.doubt !== undefined ? ', in doubt' : '';
      const shown = {
        exclusive: request.kind === 'exclusive' ? String(request.count) : '',
        shared: 'shared',
        conflict: 'refused',
      };
      expect(`${shown[request.kind]}${doubt}`).toBe(cpus);
    },
  );
});
