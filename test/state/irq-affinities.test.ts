import fc from 'fast-check';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import { irqAffinitiesFormat } from '../../src/state';

const { encode, decode } = irqAffinitiesFormat;

const show = (text: string): unknown => {
  const decoded = decode(text);
  return decoded.ok
    ? decoded.value.originals.map(({ irq, device, original }) => [irq, device, original.toString()])
    : decoded.because;
};

test('version 1, as it is on disk', () => {
  const text = `{"sealed":true,"version":1,"bootId":"b-1","irqs":[
{"irq":-1,"device":"default","original":"0-7"},
{"irq":24,"device":"eth0-rx","original":"4-5"}
],"checksum":"sha256:bc377edef60af648717d56fc0011533b4367de39eb9e1707c7c50dc7a12b988e"}
`;
  expect(show(text)).toEqual([
    [-1, 'default', '0-7'],
    [24, 'eth0-rx', '4-5'],
  ]);
  const originals = [
    { irq: -1, device: 'default', original: parseCpuList('0-7') },
    { irq: 24, device: 'eth0-rx', original: parseCpuList('4-5') },
  ];
  expect(encode({ bootId: 'b-1', originals })).toBe(text);
});

test.each`
  text                                                                            | want
  ${''}                                                                           | ${/empty/}
  ${'{"version":1'}                                                               | ${/not JSON/}
  ${'[]'}                                                                         | ${/not an object/}
  ${'{"version":2,"bootId":"b","irqs":[]}'}                                       | ${/has version 2/}
  ${'{"version":1,"irqs":[]}'}                                                    | ${/"bootId"/}
  ${'{"version":1,"bootId":"b","irqs":[1]}'}                                      | ${/not an object/}
  ${'{"version":1,"bootId":"b","irqs":[{"irq":1.5,"device":"","original":"0"}]}'} | ${/"irq"/}
  ${'{"version":1,"bootId":"b","irqs":[{"irq":1,"device":"","original":""}]}'}    | ${/"original"/}
  ${'{"version":1,"bootId":"b","irqs":[{"irq":1,"device":"","original":"x"}]}'}   | ${/CPU list/}
`('$text is refused', ({ text, want }: { text: string; want: RegExp }) => {
  expect(show(text)).toMatch(want);
});

test('any names come back, and any text is answered', () => {
  const entry = fc.record({
    irq: fc.integer({ min: -1, max: 70_000 }),
    device: fc.string(),
    original: fc.uniqueArray(fc.nat(500), { minLength: 1 }).map((ids) => CpuSet.of(ids)),
  });
  fc.assert(
    fc.property(fc.string(), fc.array(entry), (bootId, originals) => {
      const text = encode({ bootId, originals });
      const decoded = decode(text);
      if (!decoded.ok) throw new Error(decoded.because);
      expect(encode(decoded.value)).toBe(text);
    }),
  );
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void decode(text)));
});
