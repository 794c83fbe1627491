import { formatAge } from '../../../src/admin/page/client/age';

test.each`
  ms             | text
  ${-5_000}      | ${'now'}
  ${999}         | ${'now'}
  ${1_000}       | ${'1 s ago'}
  ${59_999}      | ${'59 s ago'}
  ${60_000}      | ${'1 min ago'}
  ${3_599_999}   | ${'59 min ago'}
  ${3_600_000}   | ${'1 h ago'}
  ${86_400_000}  | ${'1 d ago'}
  ${864_000_000} | ${'10 d ago'}
`('$ms ms: $text', ({ ms, text }) => {
  expect(formatAge(ms as number)).toBe(text);
});
