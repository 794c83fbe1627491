import fc from 'fast-check';
import {
  formatFigure,
  formatHotValue,
  formatRatio,
  GRACE_MS,
  isFresh,
  readFigure,
} from '../../../src/scheduling/load/figure';
import { TimeZone } from '../../../src/scheduling/load/time-zone';

const zone = TimeZone.of('Asia/Shanghai');
const stampMs = Date.parse('2023-03-01T02:00:00Z');
const stamp = '2023-03-01T10:00:00Z';

test('given a figure and a hot value: the annotations of crane-scheduler-controller', () => {
  expect(formatFigure({ value: 0.3125, stampMs }, zone)).toBe(`0.31250,${stamp}`);
  expect(formatHotValue({ value: 4, stampMs }, zone)).toBe(`4,${stamp}`);
});

// As Go's strconv.FormatFloat(value, 'f', 5, 64) writes them.
test.each`
  value               | text
  ${0}                | ${'0.00000'}
  ${0.65001}          | ${'0.65001'}
  ${1 / 64}           | ${'0.01562'}
  ${3 / 64}           | ${'0.04688'}
  ${5 / 64}           | ${'0.07812'}
  ${63 / 64}          | ${'0.98438'}
  ${1 + 1 / 64}       | ${'1.01562'}
  ${123_456 + 1 / 64} | ${'123456.01562'}
  ${1 / 32}           | ${'0.03125'}
  ${0.000_005}        | ${'0.00001'}
  ${0.000_004_9}      | ${'0.00000'}
  ${2 / 3}            | ${'0.66667'}
  ${1e21}             | ${'1000000000000000000000.00000'}
  ${1.5e22}           | ${'15000000000000000000000.00000'}
`('given the ratio $value: $text', ({ value, text }: { value: number; text: string }) => {
  expect(formatRatio(value)).toBe(text);
});

test('given any ratio: its text is within half of the last digit', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1_000, noNaN: true }), (value) => {
      expect(Math.abs(Number(formatRatio(value)) - value)).toBeLessThanOrEqual(0.000_005_000_001);
    }),
  );
});

test.each`
  name                           | text                            | value
  ${'a ratio'}                   | ${`0.31250,${stamp}`}           | ${0.3125}
  ${'a ratio above 1'}           | ${`1.2,${stamp}`}               | ${1.2}
  ${'an exponent'}               | ${`5e-1,${stamp}`}              | ${0.5}
  ${'a sign'}                    | ${`+.5,${stamp}`}               | ${0.5}
  ${'infinity, as Go writes it'} | ${`+Inf,${stamp}`}              | ${Infinity}
  ${'a negative number'}         | ${`-0.1,${stamp}`}              | ${undefined}
  ${'no number'}                 | ${`NaN,${stamp}`}               | ${undefined}
  ${'an empty number'}           | ${`,${stamp}`}                  | ${undefined}
  ${'a space before the number'} | ${` 0.5,${stamp}`}              | ${undefined}
  ${'a number out of range'}     | ${`1e999,${stamp}`}             | ${undefined}
  ${'no stamp'}                  | ${'0.5'}                        | ${undefined}
  ${'an empty stamp'}            | ${'0.5,'}                       | ${undefined}
  ${'a short stamp'}             | ${'0.5,10Z'}                    | ${undefined}
  ${'three parts'}               | ${`0.5,${stamp},`}              | ${undefined}
  ${'a text without end'}        | ${`0.5,${stamp.padEnd(9_999)}`} | ${undefined}
`('given $name: the value $value', ({ text, value }: { text: string; value: number | undefined }) => {
  expect(readFigure(text, zone)?.value).toBe(value);
});

test('given any text: it is read as a figure of at least 0, or not at all', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const figure = readFigure(text, zone);
      expect(figure === undefined || figure.value >= 0).toBe(true);
    }),
  );
});

test('given a period of three minutes: the figure is valid for eight minutes, and not at their end', () => {
  const figure = { value: 0.5, stampMs };
  expect(isFresh(figure, 180_000, stampMs + 180_000 + GRACE_MS - 1)).toBe(true);
  expect(isFresh(figure, 180_000, stampMs + 180_000 + GRACE_MS)).toBe(false);
});
