import { formatTable, formatTime } from '../../../src/cli/format/table';

test('columns are aligned, and no line ends in spaces', () => {
  expect(
    formatTable(
      ['A', 'B'],
      [
        ['long', 'x'],
        ['y', 'longer'],
      ],
    ),
  ).toBe('A     B\nlong  x\ny     longer\n');
});

test('an empty cell shows as -, and a column without any value is left out', () => {
  expect(
    formatTable(
      ['A', 'B', 'C'],
      [
        ['x', '', ''],
        ['', '', 'z'],
      ],
    ),
  ).toBe('A  C\nx  -\n-  z\n');
});

test('without rows only the headers are printed', () => {
  expect(formatTable(['A', 'B'], [])).toBe('A  B\n');
});

test('control characters in a cell are escaped', () => {
  expect(formatTable(['A'], [['x\u001b[2J']])).not.toContain('\u001b');
});

test.each([
  ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05Z'],
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
])('formatTime of %s is %s', (time, shown) => {
  expect(formatTime(time)).toBe(shown);
});
