import { chooseIdentity, identityNames, isIdentityChoice } from '../../../src/core/annotations/cpu-identity';
import { decisiveAnnotations, digestAnnotations } from '../../../src/core/annotations/decisive';

const POD = 'cpusetd.io/cpu-identity';
const OWN = 'cpu-identity.cpusetd.io/container.app';
const OWN_OTHER_FORM = 'cpusetd.io/cpu-identity/container.app';

const offered = { cpuIdentity: true };

test.each`
  name                                         | annotations                                         | isWanted | remarked
  ${'nothing asked'}                           | ${{}}                                               | ${false} | ${[]}
  ${'on for the pod'}                          | ${{ [POD]: 'on' }}                                  | ${true}  | ${[]}
  ${'off for the pod'}                         | ${{ [POD]: 'off' }}                                 | ${false} | ${[]}
  ${'on for the container'}                    | ${{ [OWN]: 'on' }}                                  | ${true}  | ${[]}
  ${'on for the container, in the other form'} | ${{ [OWN_OTHER_FORM]: 'on' }}                       | ${true}  | ${[]}
  ${'on for the pod, off for the container'}   | ${{ [POD]: 'on', [OWN]: 'off' }}                    | ${false} | ${[]}
  ${'off for the pod, on for the container'}   | ${{ [POD]: 'off', [OWN]: 'on' }}                    | ${true}  | ${[]}
  ${'on for another container'}                | ${{ 'cpu-identity.cpusetd.io/container.db': 'on' }} | ${false} | ${[]}
  ${'an unknown value, and on for the pod'}    | ${{ [POD]: 'on', [OWN]: 'yes' }}                    | ${true}  | ${[`${OWN}: "yes" is neither on nor off`]}
  ${'a value of another case'}                 | ${{ [POD]: 'On' }}                                  | ${false} | ${[`${POD}: "On" is neither on nor off`]}
  ${'a path'}                                  | ${{ [POD]: '/etc/shadow' }}                         | ${false} | ${[`${POD}: "/etc/shadow" is neither on nor off`]}
  ${'control characters'}                      | ${{ [POD]: '\u001b[2J\n' }}                         | ${false} | ${[`${POD}: "\\u001b[2J\\n" is neither on nor off`]}
`('given $name, then it is wanted: $isWanted', ({ annotations, isWanted, remarked }) => {
  const choice = chooseIdentity(offered, annotations as Record<string, string>, 'app');
  expect(choice.isWanted).toBe(isWanted);
  expect(choice.remarks.map(({ annotation, because }) => `${annotation}: ${because}`)).toEqual(remarked);
});

test('given an operator who does not offer it, then on is remarked, and off is not', () => {
  expect(chooseIdentity({}, { [POD]: 'on' }, 'app')).toEqual({
    isWanted: false,
    remarks: [
      { annotation: POD, because: 'the operator gives no container a file with its CPUs here (--cpu-identity)' },
    ],
  });
  expect(chooseIdentity({}, { [POD]: 'off' }, 'app')).toEqual({ isWanted: false, remarks: [] });
});

test('given a container with the name of an inherited property, then nothing is inherited', () => {
  expect(chooseIdentity(offered, { note: 'on' }, '__proto__').isWanted).toBe(false);
  expect(chooseIdentity(offered, Object.create({ [POD]: 'on' }) as Record<string, string>, 'app').isWanted).toBe(false);
});

test('the names that are looked up are those that are kept at the door, and they switch no policy', () => {
  const names = identityNames(['app']);
  expect(names).toEqual([POD, OWN_OTHER_FORM, OWN]);
  expect(names.every(isIdentityChoice)).toBe(true);
  expect(isIdentityChoice('cpusetd.io/cpu-identity-dir')).toBe(false);
  const all = Object.fromEntries(names.map((name) => [name, 'on']));
  expect(decisiveAnnotations(all, ['app'])).toEqual(all);
  expect(digestAnnotations(all, 'app')).toBe('');
});
