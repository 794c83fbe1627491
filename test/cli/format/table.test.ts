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

test('where only names may be shortened, each row is one line and figures stay whole', () => {
  const rows = [['default/a-long-name-of-a-pod', 'container', '12345.6 ms/s', 'violated']];
  const show = (width: number): string[] =>
    formatTable(['POD', 'CONTAINER', 'WAIT', 'VERDICT'], rows, {
      terminal: { width, paint: (text) => text },
      shortened: 2,
    })
      .trimEnd()
      .split('\n');
  expect(show(100)[1]).toBe('default/a-long-name-of-a-pod  container  12345.6 ms/s  violated');
  expect(show(50)).toEqual([
    'POD              CONTAINER  WAIT          VERDICT',
    'default…f-a-pod  container  12345.6 ms/s  violated',
  ]);
});
