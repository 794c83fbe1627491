import { actsOnFailurePolicy } from '../../src/nri';

test.each`
  nriVersion                                 | acts         | because
  ${undefined}                               | ${false}     | ${'none is announced before 0.12'}
  ${'v0.12.0'}                               | ${false}     | ${'it is older'}
  ${'v0.12.3'}                               | ${false}     | ${'it is older'}
  ${'v0.12.4'}                               | ${true}      | ${'it is the first that does'}
  ${'0.12.10'}                               | ${true}      | ${'its last number is larger, and not its text'}
  ${'v0.13.0'}                               | ${true}      | ${'it is newer'}
  ${'v1.0.0'}                                | ${true}      | ${'it is newer'}
  ${'v0.12.4-0.20261001000000-0123456789ab'} | ${undefined} | ${'it is of a build between two releases'}
  ${'0.0.0-unknown'}                         | ${undefined} | ${'the runtime does not know it'}
  ${'(devel)'}                               | ${undefined} | ${'the runtime does not know it'}
`('whether NRI $nriVersion acts on a failure policy is $acts: $because', ({ nriVersion, acts }) => {
  expect(actsOnFailurePolicy(nriVersion as string | undefined)).toBe(acts);
});
