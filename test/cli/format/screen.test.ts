import { PassThrough } from 'node:stream';
import { repaint, Screen } from '../../../src/cli/format/screen';

/** The text that a terminal shows after these bytes. It knows the sequences of `Screen`, and throws at others. */
function play(lines: readonly string[], bytes: string): readonly string[] {
  const screen = [...lines];
  let row = 0;
  let column = 0;
  for (const part of bytes.split(/(\u001b\[[\d;]*[A-Za-z])/)) {
    if (part === '') continue;
    const [, position] = /^\u001b\[(\d+);1H$/.exec(part) ?? [];
    if (position !== undefined) [row, column] = [Number(position) - 1, 0];
    else if (part === '\u001b[H') [row, column] = [0, 0];
    else if (part === '\u001b[2J' || part === '\u001b[3J') screen.length = 0;
    else if (part === '\u001b[K') screen[row] = (screen[row] ?? '').slice(0, column);
    else if (part === '\u001b[J') screen.length = Math.min(screen.length, row);
    else if (part.includes('\u001b')) throw new Error(`unknown sequence ${JSON.stringify(part)}`);
    else {
      screen[row] = (screen[row] ?? '').slice(0, column) + part + (screen[row] ?? '').slice(column + part.length);
      column += part.length;
    }
  }
  return screen;
}

test.each([
  ['nothing changed', ['a', 'b'], ['a', 'b'], 0],
  ['a line changed', ['a', 'bbb', 'c'], ['a', 'x', 'c'], 1],
  ['a line came', ['a'], ['a', 'b'], 1],
  ['a line went', ['a', 'b', 'c'], ['a', 'c'], 1],
  ['all lines went', ['a', 'b', 'c'], ['z'], 1],
])('given that %s, only that is written, and the screen has the new lines', (_what, before, after, written) => {
  const bytes = repaint(before, after);
  expect(play(before, bytes)).toEqual(after);
  expect(bytes.split('\u001b[K').length - 1).toBe(written);
  if (written === 0) expect(bytes).toBe('');
});

/** A terminal of so many rows, and a screen on it that shows `text`. */
function openScreen(rows: number) {
  const out = Object.assign(new PassThrough(), { rows, columns: 80 });
  const state = { text: '' };
  const screen = new Screen(out, () => Promise.resolve(state.text));
  let shown: readonly string[] = ['old', 'old', 'old'];
  const read = (): readonly string[] => (shown = play(shown, String(out.read() ?? '')));
  const show = async (text: string): Promise<readonly string[]> => {
    state.text = text;
    await screen.refresh();
    return read();
  };
  return { out, screen, show, read };
}

test('the first text clears the screen, but not the memory of the terminal; one that is too long is cut, and the rest is counted', async () => {
  const { out, show } = openScreen(5);
  expect(await show('1\n2\n')).toEqual(['1', '2']);
  expect(await show('1\n2\n3\n4\n5\n6\n')).toEqual([
    '1',
    '2',
    '3',
    '… 3 more lines; choose containers, or enlarge the window',
  ]);
  out.rows = 24;
  expect(await show('1\n2\n3\n4\n5\n6\n')).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(repaint(undefined, ['1'])).not.toContain('\u001b[3J');
});

test('a terminal that is resized is painted anew, without another text; a closed screen lets it be', async () => {
  const { out, screen, show, read } = openScreen(3);
  await show('1\n2\n3\n4\n');
  out.rows = 10;
  out.emit('resize');
  await new Promise((resolve) => out.once('readable', resolve));
  expect(read()).toEqual(['1', '2', '3', '4']);
  screen.close();
  expect(out.listenerCount('resize')).toBe(0);
});

test('a note stands above the text, escaped and cut to the line, until the next text', async () => {
  const { screen, show, read } = openScreen(10);
  await show('1\n');
  await screen.refresh(`gone\u001b[31m${'x'.repeat(200)}`);
  const [note, ...rest] = read();
  expect(rest).toEqual(['', '1']);
  expect(note).toHaveLength(80);
  expect(note).toMatch(/^gone\\u001b\[31mx+…x+$/);
  expect(await show('2\n')).toEqual(['2']);
});

test('it tells the text how many lines have room, and paints again below the same note', async () => {
  const out = Object.assign(new PassThrough(), { rows: 10, columns: 80 });
  const rooms: number[] = [];
  const screen = new Screen(out, (lines) => Promise.resolve(`${rooms.push(lines)}\n`));
  await screen.refresh();
  await screen.refresh('gone');
  await screen.paint();
  expect(rooms).toEqual([9, 7, 7]);
  expect(play([], String(out.read()))).toEqual(['gone', '', '3']);
  screen.close();
});
