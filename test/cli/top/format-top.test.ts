import { formatTop } from '../../../src/cli/top/format-top';
import { terminalOf, type Terminal } from '../../../src/cli/format/terminal';
import { widthOf } from '../../../src/cli/format/width';
import { foreign, row, topOf } from './rows';

const order = { by: 'verdict', isReversed: false } as const;
const terminal = (width: number): Terminal => ({ width, rows: 24, paint: (text) => text });

const full = row('web', {
  cpus: '2-3',
  usedMilliCpu: 1_575.4,
  usedPercent: 78.77,
  waitMsPerSecond: 4.24,
  throttledPercent: 0,
  foreign: foreign(12.34),
});

test('facts of the reading, then a line for each container; what is not known is a dash, and 0 is 0', () => {
  expect(formatTop(topOf(row('new', { cpus: '8' }), full), { order })).toBe(
    [
      'node worker-1, 2026-11-21T10:00:00Z: 2 containers with 3 CPUs of their own, 1.575 CPUs used',
      'over 2 s, read from the kernel by this command in 24 ms; sorted by verdict',
      '',
      'POD          CONTAINER  CPUS  USED    WAIT      THROTTLED  OTHERS  MOST    VERDICT',
      'default/new  app        8     -       -         -          -       -       kept',
      'default/web  app        2-3   78.8 %  4.2 ms/s  0 %        12.3 %  stress  kept',
      '',
    ].join('\n'),
  );
});

test('before the second reading it says that figures follow', () => {
  const { seconds: _seconds, ...first } = topOf(row('web'));
  const text = formatTop(first, { order });
  expect(text).toContain('1 container with 2 CPUs of its own\n');
  expect(text).toContain('first reading: figures follow, read from the kernel');
});

test('without owners it says so', () => {
  expect(formatTop(topOf(), { order })).toMatch(
    / 0 containers with 0 CPUs of their own\n.*\n\nNo container has CPUs of its own\.\n$/,
  );
});

test('a name from a pod does not command the terminal', () => {
  expect(formatTop(topOf(row('a\u001b[2Jb', { foreign: foreign(1, 'x\u001b[31m') })), { order })).not.toContain(
    '\u001b',
  );
});

const wide = [
  full,
  row(`${'long-'.repeat(30)}tail`, {
    cpus: '1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,1000-1023',
    usedMilliCpu: 40_000,
    usedPercent: 100,
    waitMsPerSecond: 123_456.7,
    throttledPercent: 99.9,
    foreign: foreign(99.9, 'kworker/1023:1H'),
    verdict: 'violated' as const,
  }),
];

test.each([80, 100, 160, 300])('in %d columns each container has one line, which fits', (width) => {
  const text = formatTop(topOf(...wide), { order, terminal: terminal(width), hasKeys: true });
  const lines = text.trimEnd().split('\n');
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  const titles = lines.findIndex((line) => line.startsWith('POD '));
  expect(lines.slice(titles + 1)).toHaveLength(2);
  expect(lines[titles + 1]).toMatch(/^def\S+ail +app .* 123457 ms\/s +99\.9 % +99\.9 % .*violated$/);
  expect(lines[titles]!.includes(' MOST ')).toBe(width >= 100);
});

test('rows that do not fit are counted, the first ones of the order stay, and the text has no more lines than it may', () => {
  const rows = Array.from({ length: 500 }, (_, i) => row(`p${String(i).padStart(3, '0')}`, { usedPercent: i / 5 }));
  const sort = { by: 'used', isReversed: false } as const;
  const show = (lines: number): string[] =>
    formatTop(topOf(...rows), { order: sort, terminal: terminal(100), lines, hasKeys: true })
      .trimEnd()
      .split('\n');
  const lines = show(12);
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toBe('… 494 more; enlarge the window, or sort in another order');
  expect(lines.filter((line) => line.startsWith('default/')).map((line) => line.slice(8, 12))).toEqual(
    [499, 498, 497, 496, 495, 494].map((i) => `p${i}`),
  );
  expect(show(505)).toHaveLength(505);
  expect(show(505).at(-1)).toContain('p000');
  expect(show(504).at(-1)).toBe('… 2 more; enlarge the window, or sort in another order');
});

test('keys are told where they are obeyed', () => {
  const keys = 'sort by u used, w wait, t throttled, o others, n name, v verdict; r reverse; q quit\n';
  expect(formatTop(topOf(full), { order, hasKeys: true })).toContain(keys);
  expect(formatTop(topOf(full), { order })).not.toContain('q quit');
});

test('broken verdicts and the load of others are in colour, unless NO_COLOR is set', () => {
  const stdout = { isTTY: true, columns: 120, rows: 24 } as unknown as Parameters<typeof terminalOf>[0]['stdout'];
  const show = (env: Record<string, string>): string =>
    formatTop(topOf(row('bad', { verdict: 'violated', foreign: foreign(5) })), {
      order,
      terminal: terminalOf({ stdout, env }),
      hasKeys: true,
    });
  expect(show({})).toContain('\u001b[31mviolated');
  expect(show({})).toContain('\u001b[33m5 %');
  expect(show({ NO_COLOR: '1' })).not.toContain('\u001b');
});
