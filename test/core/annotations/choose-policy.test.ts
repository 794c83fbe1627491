import { choosePolicy } from '../../../src/core/annotations/choose-policy';
import { excludesReserved } from '../../../src/core/annotations/annotations';
import { POLICY_NAMES, type PolicyName } from '../../../src/core/model/policies';

type Annotations = Readonly<Record<string, string>>;

function choose(annotations: Annotations, podPolicies: readonly PolicyName[] | undefined = POLICY_NAMES) {
  const settings = { cpuManagerPolicy: 'static', ...(podPolicies && { podPolicies }) } as const;
  return choosePolicy(settings, annotations, 'db');
}

const OURS = 'cpusetd.io/policy';
const CRANES = 'topology.crane.io/cpu-policy';

test.each`
  name                                                    | annotations                                                                 | policy         | by
  ${'nothing said: the policy of the node'}               | ${{}}                                                                       | ${'static'}    | ${undefined}
  ${'ours'}                                               | ${{ [OURS]: 'numa' }}                                                       | ${'numa'}      | ${OURS}
  ${"Crane's"}                                            | ${{ [CRANES]: 'immovable' }}                                                | ${'immovable'} | ${CRANES}
  ${"ours before Crane's"}                                | ${{ [OURS]: 'none', [CRANES]: 'exclusive' }}                                | ${'none'}      | ${OURS}
  ${'the container before the pod'}                       | ${{ [OURS]: 'none', [`${OURS}/container.db`]: 'exclusive' }}                | ${'exclusive'} | ${`${OURS}/container.db`}
  ${"the container by Crane's before the pod by ours"}    | ${{ [OURS]: 'none', [`${CRANES}/container.db`]: 'numa' }}                   | ${'numa'}      | ${`${CRANES}/container.db`}
  ${'the container by ours before the container by its'}  | ${{ [`${OURS}/container.db`]: 'none', [`${CRANES}/container.db`]: 'numa' }} | ${'none'}      | ${`${OURS}/container.db`}
  ${'a name that passes an API server'}                   | ${{ 'policy.cpusetd.io/container.db': 'numa' }}                             | ${'numa'}      | ${'policy.cpusetd.io/container.db'}
  ${"the same of Crane's"}                                | ${{ 'cpu-policy.topology.crane.io/container.db': 'numa' }}                  | ${'numa'}      | ${'cpu-policy.topology.crane.io/container.db'}
  ${'of another container: not ours'}                     | ${{ [`${OURS}/container.web`]: 'exclusive' }}                               | ${'static'}    | ${undefined}
  ${'static can be chosen by ours'}                       | ${{ [OURS]: 'static' }}                                                     | ${'static'}    | ${OURS}
  ${'an unknown value counts as not set: the next level'} | ${{ [`${OURS}/container.db`]: 'exklusive', [CRANES]: 'numa' }}              | ${'numa'}      | ${CRANES}
`('$name', ({ annotations, policy, by }: { annotations: Annotations; policy: string; by: string | undefined }) => {
  expect(choose(annotations)).toMatchObject({ policy });
  expect(choose(annotations).chosenBy).toBe(by);
});

test.each`
  name                                         | annotations                        | allowed                  | remark
  ${'an unknown value'}                        | ${{ [OURS]: 'exclusiv' }}          | ${POLICY_NAMES}          | ${'"exclusiv" is none of none, static, exclusive, numa, immovable'}
  ${'static is none of Crane’s'}               | ${{ [CRANES]: 'static' }}          | ${POLICY_NAMES}          | ${'"static" is none of none, exclusive, numa, immovable'}
  ${'upper case'}                              | ${{ [OURS]: 'Exclusive' }}         | ${POLICY_NAMES}          | ${'"Exclusive" is none of'}
  ${'empty'}                                   | ${{ [OURS]: '' }}                  | ${POLICY_NAMES}          | ${'"" is none of'}
  ${'a name that every object has'}            | ${{ [OURS]: 'constructor' }}       | ${POLICY_NAMES}          | ${'"constructor" is none of'}
  ${'control characters are shown escaped'}    | ${{ [OURS]: 'a\nb' }}              | ${POLICY_NAMES}          | ${'"a\\nb" is none of'}
  ${'a long text is shown in part'}            | ${{ [OURS]: 'x'.repeat(100_000) }} | ${POLICY_NAMES}          | ${/^"x{64}"… \(100000 characters\) is none of/}
  ${'what the operator does not allow'}        | ${{ [OURS]: 'exclusive' }}         | ${['numa', 'immovable']} | ${'does not let pods choose exclusive here (--pod-policies)'}
  ${'anything, as long as nothing is allowed'} | ${{ [CRANES]: 'numa' }}            | ${undefined}             | ${'does not let pods choose numa here'}
`(
  '$name is remarked, and the node decides',
  ({
    annotations,
    allowed,
    remark,
  }: {
    annotations: Annotations;
    allowed: PolicyName[] | undefined;
    remark: string | RegExp;
  }) => {
    const settings = { cpuManagerPolicy: 'static', ...(allowed && { podPolicies: allowed }) } as const;
    const chosen = choosePolicy(settings, annotations, 'db');
    expect(chosen).toEqual({
      policy: 'static',
      remarks: [
        {
          annotation: Object.keys(annotations)[0],
          because: typeof remark === 'string' ? expect.stringContaining(remark) : expect.stringMatching(remark),
        },
      ],
    });
  },
);

test('annotations that an object inherits are none', () => {
  const annotations = Object.create({ [OURS]: 'exclusive' }) as Annotations;
  expect(choose(annotations)).toEqual({ policy: 'static', remarks: [] });
  expect(choosePolicy({ cpuManagerPolicy: 'none' }, {}, '__proto__')).toEqual({ policy: 'none', remarks: [] });
});

test.each(['True', 'TRUE', '1', 't', 'yes', '', ' true', 'true '])('exclude-reserved-cpus %j is not true', (value) => {
  expect(excludesReserved({ 'topology.crane.io/exclude-reserved-cpus': value })).toBe(false);
});

test('exclude-reserved-cpus true is', () => {
  expect(excludesReserved({ 'topology.crane.io/exclude-reserved-cpus': 'true' })).toBe(true);
  expect(excludesReserved({})).toBe(false);
});
