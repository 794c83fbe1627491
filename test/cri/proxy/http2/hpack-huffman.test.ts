import { decodeHuffman } from '../../../../src/cri/proxy/http2/hpack-huffman';

const decode = (hex: string) => {
  const bytes = Buffer.from(hex, 'hex');
  return decodeHuffman(bytes, 0, bytes.length);
};

test.each([
  ['', ''],
  ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
  ['a8eb10649cbf', 'no-cache'],
  ['6402', '302'],
  ['67', '3'],
])('RFC 7541, appendix C: %s is %j', (hex, text) => {
  expect(decode(hex)).toBe(text);
});

test.each([
  ['padding with zeros', '64'],
  ['more than 7 bits of padding', '6402ff'],
  ['the symbol EOS', 'fffffffc'],
])('given %s, then it is no text', (_name, hex) => {
  expect(decode(hex)).toBeUndefined();
});
