import { parseTarget } from '../../../src/cli/explain/parse-target';
import { UsageError } from '../../../src/cli/context';

test.each`
  name                           | target                          | want
  ${'a name with its namespace'} | ${{ pod: 'ns/p' }}              | ${{ kind: 'pod', namespace: 'ns', pod: 'p', container: '' }}
  ${'a name alone'}              | ${{ pod: 'p', container: 'c' }} | ${{ kind: 'pod', namespace: '', pod: 'p', container: 'c' }}
  ${'a number of CPUs'}          | ${{ cpus: '65535' }}            | ${{ kind: 'cpus', count: 65_535 }}
`('$name gives $want', ({ target, want }) => {
  expect(parseTarget(target)).toEqual(want);
});

test.each`
  name                        | target                     | rule
  ${'neither pod nor number'} | ${{}}                      | ${/name a pod, or a number of CPUs/}
  ${'both pod and number'}    | ${{ pod: 'p', cpus: '1' }} | ${/leave pod p out/}
  ${'an empty name'}          | ${{ pod: '' }}             | ${/write namespace\/name/}
  ${'an empty namespace'}     | ${{ pod: '/p' }}           | ${/write namespace\/name/}
  ${'two slashes'}            | ${{ pod: 'a/b/c' }}        | ${/write namespace\/name/}
  ${'no CPUs'}                | ${{ cpus: '0' }}           | ${/from 1 to 65535/}
  ${'too many CPUs'}          | ${{ cpus: '65536' }}       | ${/from 1 to 65535/}
  ${'no number'}              | ${{ cpus: '1.5' }}         | ${/from 1 to 65535/}
`('$name is wrong usage, and the message has the rule', ({ target, rule }) => {
  expect(() => parseTarget(target)).toThrow(UsageError);
  expect(() => parseTarget(target)).toThrow(rule as RegExp);
});
