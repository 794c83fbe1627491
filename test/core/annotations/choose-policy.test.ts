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
  name                                                        | annotations                                                                 | policy         | by
  ${'without annotations the policy of the node holds'}       | ${{}}                                                                       | ${'static'}    | ${undefined}
  ${'the annotation of cpusetd'}                              | ${{ [OURS]: 'numa' }}                                                       | ${'numa'}      | ${OURS}
  ${'the annotation of Crane'}                                | ${{ [CRANES]: 'immovable' }}                                                | ${'immovable'} | ${CRANES}
  ${'cpusetd before Crane'}                                   | ${{ [OURS]: 'none', [CRANES]: 'exclusive' }}                                | ${'none'}      | ${OURS}
  ${'the container before the pod'}                           | ${{ [OURS]: 'none', [`${OURS}/container.db`]: 'exclusive' }}                | ${'exclusive'} | ${`${OURS}/container.db`}
  ${'the container by Crane before the pod by cpusetd'}       | ${{ [OURS]: 'none', [`${CRANES}/container.db`]: 'numa' }}                   | ${'numa'}      | ${`${CRANES}/container.db`}
  ${'the container by cpusetd before the container by Crane'} | ${{ [`${OURS}/container.db`]: 'none', [`${CRANES}/container.db`]: 'numa' }} | ${'none'}      | ${`${OURS}/container.db`}
  ${'the form that the API server accepts'}                   | ${{ 'policy.cpusetd.io/container.db': 'numa' }}                             | ${'numa'}      | ${'policy.cpusetd.io/container.db'}
  ${'the form of Crane that the API server accepts'}          | ${{ 'cpu-policy.topology.crane.io/container.db': 'numa' }}                  | ${'numa'}      | ${'cpu-policy.topology.crane.io/container.db'}
  ${'an annotation for another container does not count'}     | ${{ [`${OURS}/container.web`]: 'exclusive' }}                               | ${'static'}    | ${undefined}
  ${'static can be chosen with the annotation of cpusetd'}    | ${{ [OURS]: 'static' }}                                                     | ${'static'}    | ${OURS}
  ${'an unknown value counts as not set: the next level'}     | ${{ [`${OURS}/container.db`]: 'exklusive', [CRANES]: 'numa' }}              | ${'numa'}      | ${CRANES}
`('$name', ({ annotations, policy, by }: { annotations: Annotations; policy: string; by: string | undefined }) => {
  expect(choose(annotations)).toMatchObject({ policy });
  expect(choose(annotations).chosenBy).toBe(by);
});

test.each`
  name                                                  | annotations                        | allowed                  | remark
  ${'an unknown value'}                                 | ${{ [OURS]: 'exclusiv' }}          | ${POLICY_NAMES}          | ${'"exclusiv" is none of none, static, exclusive, numa, immovable'}
  ${'static with the annotation of Crane'}              | ${{ [CRANES]: 'static' }}          | ${POLICY_NAMES}          | ${'"static" is none of none, exclusive, numa, immovable'}
  ${'upper case'}                                       | ${{ [OURS]: 'Exclusive' }}         | ${POLICY_NAMES}          | ${'"Exclusive" is none of'}
  ${'an empty text'}                                    | ${{ [OURS]: '' }}                  | ${POLICY_NAMES}          | ${'"" is none of'}
  ${'a name that every object has'}                     | ${{ [OURS]: 'constructor' }}       | ${POLICY_NAMES}          | ${'"constructor" is none of'}
  ${'control characters, which the remark has escaped'} | ${{ [OURS]: 'a\nb' }}              | ${POLICY_NAMES}          | ${'"a\\nb" is none of'}
  ${'a long text, which the remark has in part'}        | ${{ [OURS]: 'x'.repeat(100_000) }} | ${POLICY_NAMES}          | ${/^"x{64}"… \(100000 characters\) is none of/}
  ${'a policy that the operator does not allow'}        | ${{ [OURS]: 'exclusive' }}         | ${['numa', 'immovable']} | ${'does not let pods choose exclusive here (--pod-policies)'}
  ${'any policy when none is allowed'}                  | ${{ [CRANES]: 'numa' }}            | ${undefined}             | ${'does not let pods choose numa here'}
`(
  'a remark names it, and the node decides: $name',
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
