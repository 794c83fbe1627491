import { codeOfReset, encodeMessage, readStatus } from '../../../../src/cri/proxy/grpc/status';

test.each`
  name                                | fields                                                   | want
  ${'code and text'}                  | ${[['grpc-status', '5'], ['grpc-message', 'gone']]}      | ${{ code: 5, message: 'gone' }}
  ${'no text'}                        | ${[['grpc-status', '0']]}                                | ${{ code: 0, message: '' }}
  ${'no code is UNKNOWN'}             | ${[['grpc-message', 'x']]}                               | ${{ code: 2, message: 'x' }}
  ${'a code that is no number'}       | ${[['grpc-status', '-1']]}                               | ${{ code: 2, message: '' }}
  ${'of a repeated field the first'}  | ${[['grpc-status', '5'], ['grpc-status', '6']]}          | ${{ code: 5, message: '' }}
  ${'escaped UTF-8'}                  | ${[['grpc-status', '2'], ['grpc-message', '%C3%a4%25']]} | ${{ code: 2, message: 'ä%' }}
  ${'a broken escape stays as it is'} | ${[['grpc-status', '2'], ['grpc-message', '100% %zz']]}  | ${{ code: 2, message: '100% %zz' }}
`('the status of the trailers, $name', ({ fields, want }) => {
  expect(readStatus(fields as [string, string][])).toEqual(want);
});

test.each(['plain', 'ä %41 %', 'line\nbreak', '\u{1f600}', ''])('%j survives encoding and decoding', (text) => {
  const encoded = encodeMessage(text);
  expect(encoded).toMatch(/^[ -~]*$/);
  expect(readStatus([['grpc-message', encoded]]).message).toBe(text);
});

test.each`
  reset                    | http2 | want
  ${'REFUSED_STREAM'}      | ${7}  | ${14}
  ${'CANCEL'}              | ${8}  | ${1}
  ${'ENHANCE_YOUR_CALM'}   | ${11} | ${8}
  ${'INADEQUATE_SECURITY'} | ${12} | ${7}
  ${'INTERNAL_ERROR'}      | ${2}  | ${13}
  ${'an unknown code'}     | ${99} | ${13}
`('RST_STREAM with $reset means status $want', ({ http2, want }) => {
  expect(codeOfReset(http2 as number)).toBe(want);
});
