import type { PolicyName } from '../../../src/core/model/policies';
import {
  checkOptionsAreUsed,
  checkStaticPolicyOptions,
  parseStaticPolicyOptions,
} from '../../../src/core/options/static-policy-options';
import {
  checkTopologyManagerOptions,
  NO_TOPOLOGY_MANAGER_OPTIONS,
  parseTopologyManagerOptions,
} from '../../../src/core/options/topology-manager-options';
import { NO_OPTIONS, optionNames } from '../../../src/core/model/settings';
import { buildTopology } from '../../../src/core/topology';
import { cpusOf } from '../topology/arbitrary-machine';

const ALL = [
  'align-by-socket',
  'distribute-cpus-across-cores',
  'distribute-cpus-across-numa',
  'full-pcpus-only',
  'prefer-align-cpus-by-uncorecache',
  'strict-cpu-reservation',
];
const EXCLUDED = ['1 3', '1 2', '1 4', '2 4'].map((pair) => pair.split(' ').map((i) => ALL[Number(i)]!));

function problemOf(parsed: { ok: true } | { ok: false; problem: { kind: string; because: string } }): string {
  return parsed.ok ? 'none' : `${parsed.problem.kind}: ${parsed.problem.because}`;
}

test.each(ALL)('%s is read', (name) => {
  const parsed = parseStaticPolicyOptions(new Map([[name, 'true']]));
  expect(parsed.ok && optionNames(parsed.options)).toEqual([name]);
});

test.each(ALL.flatMap((option, i) => ALL.slice(i + 1).map((other) => [option, other] as const)))(
  '%s together with %s is allowed or not, as the kubelet has it',
  (first, second) => {
    const excluded = EXCLUDED.some((pair) => pair.includes(first) && pair.includes(second));
    const problem = problemOf(
      parseStaticPolicyOptions(
        new Map([
          [first, 'true'],
          [second, 'true'],
        ]),
      ),
    );
    expect(problem.startsWith('incompatible')).toBe(excluded);
    if (excluded) expect(problem).toContain('can not be used at the same time; set one of them to false');
    expect(
      problemOf(
        parseStaticPolicyOptions(
          new Map([
            [first, 'true'],
            [second, 'false'],
          ]),
        ),
      ),
    ).toBe('none');
  },
);

test.each([
  [
    'an unknown name',
    [['full-pcpus', 'true']],
    'unknown-option: unknown CPU Manager Policy option: "full-pcpus"; options are align-by-socket',
  ],
  ['a name in other case', [['Full-PCPUs-Only', 'true']], 'unknown-option'],
  [
    'an unknown name before a bad value',
    [
      ['full-pcpus-only', 'x'],
      ['y', 'true'],
    ],
    'unknown-option',
  ],
  [
    'a bad value before an exclusion',
    [
      ['full-pcpus-only', '1'],
      ['distribute-cpus-across-cores', '1'],
      ['align-by-socket', 'yes'],
    ],
    'bad-value: bad value for option "align-by-socket": "yes" is not a boolean; write true or false',
  ],
  ['an empty value', [['full-pcpus-only', '']], 'bad-value'],
  ['a value with a space', [['full-pcpus-only', ' true']], 'bad-value'],
  ['a number', [['full-pcpus-only', '2']], 'bad-value'],
])('%s is refused', (_name, values, problem) => {
  expect(problemOf(parseStaticPolicyOptions(new Map(values as [string, string][])))).toContain(problem);
});

test.each`
  what                                                           | policies                 | options                           | kind
  ${'the policy none takes no options'}                          | ${['none']}              | ${[['full-pcpus-only', 'true']]}  | ${'none-policy-options'}
  ${'the policy none takes no option, also not one that is off'} | ${['none']}              | ${[['full-pcpus-only', 'false']]} | ${'none-policy-options'}
  ${'the policy none without options is valid'}                  | ${['none']}              | ${[]}                             | ${undefined}
  ${'other policies without options take none'}                  | ${['numa', 'immovable']} | ${[['full-pcpus-only', 'true']]}  | ${'none-policy-options'}
  ${'the policy static takes them'}                              | ${['static']}            | ${[['full-pcpus-only', 'true']]}  | ${undefined}
  ${'a policy that pods may choose takes them too'}              | ${['none', 'exclusive']} | ${[['full-pcpus-only', 'true']]}  | ${undefined}
`('$what', ({ policies, options, kind }: { policies: PolicyName[]; options: [string, string][]; kind?: string }) => {
  expect(checkOptionsAreUsed(policies, new Map(options))?.kind).toBe(kind);
});

const shape = { coresPerNode: 2, threads: 2, coresPerCache: 2, numbering: 'adjacent' } as const;
const twoSocketsOneNode = buildTopology({ cpus: cpusOf({ ...shape, sockets: 2, nodesPerSocket: -2 }) });
const twoSockets = buildTopology({ cpus: cpusOf({ ...shape, sockets: 2, nodesPerSocket: 1 }) });

test.each([
  ['with single-numa-node', twoSockets, 'single-numa-node', 'incompatible'],
  ['with more sockets than NUMA nodes', twoSocketsOneNode, 'none', 'incompatible'],
  ['with restricted', twoSockets, 'restricted', 'none'],
])('align-by-socket %s', (_name, topology, topologyManagerPolicy, problem) => {
  const context = { topology, topologyManagerPolicy };
  expect(problemOf(checkStaticPolicyOptions({ ...NO_OPTIONS, alignBySocket: true }, context))).toContain(problem);
  expect(problemOf(checkStaticPolicyOptions(NO_OPTIONS, context))).toBe('none');
});

test.each([
  ['nothing', [], 'none'],
  [
    'both',
    [
      ['prefer-closest-numa-nodes', 'T'],
      ['max-allowable-numa-nodes', '16'],
    ],
    'none',
  ],
  ['an unknown name', [['closest', 'true']], 'unknown-option'],
  ['a bad boolean', [['prefer-closest-numa-nodes', 'maybe']], 'bad-value'],
  ['a number below the least', [['max-allowable-numa-nodes', '7']], 'bad-value'],
  ['a number above what can be weighed', [['max-allowable-numa-nodes', '17']], 'bad-value'],
  ['a fraction', [['max-allowable-numa-nodes', '8.5']], 'bad-value'],
  ['a negative number', [['max-allowable-numa-nodes', '-8']], 'bad-value'],
  ['a text that is no number', [['max-allowable-numa-nodes', '']], 'bad-value'],
  ['a hexadecimal number', [['max-allowable-numa-nodes', '0x10']], 'bad-value'],
])('topology manager: %s', (_name, values, problem) => {
  expect(problemOf(parseTopologyManagerOptions(new Map(values as [string, string][])))).toContain(problem);
});

test('topology manager options are read', () => {
  const parsed = parseTopologyManagerOptions(
    new Map([
      ['prefer-closest-numa-nodes', 'true'],
      ['max-allowable-numa-nodes', '12'],
    ]),
  );
  expect(parsed).toEqual({ ok: true, options: { preferClosestNumaNodes: true, maxAllowableNumaNodes: 12 } });
});

test.each([
  [8, 'restricted', 'none'],
  [9, 'none', 'none'],
  [9, 'restricted', 'set max-allowable-numa-nodes to 9'],
  [64, 'best-effort', 'set topology-manager-policy to none'],
])('%d NUMA nodes under %s', (numaNodes, policy, problem) => {
  expect(problemOf(checkTopologyManagerOptions(NO_TOPOLOGY_MANAGER_OPTIONS, { policy, numaNodes }))).toContain(problem);
});
