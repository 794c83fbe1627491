import { PassThrough } from 'node:stream';
import { repaint, Screen } from '../../../src/cli/format/screen';

/** What a terminal shows after these bytes. It knows the sequences of `Screen`, and throws at others. */
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

test('the first text clears the screen; one that is too long is cut to the rows, and the rest is counted', async () => {
  const out = Object.assign(new PassThrough(), { rows: 5, columns: 80 });
  const screen = new Screen(out);
  const read = (): string => String(out.read() ?? '');
  await screen.show('1\n2\n');
  let shown = play(['old', 'old', 'old'], read());
  expect(shown).toEqual(['1', '2']);
  await screen.show('1\n2\n3\n4\n5\n6\n');
  shown = play(shown, read());
  expect(shown).toEqual(['1', '2', '3', '… 3 more lines; choose containers, or enlarge the window']);
  out.rows = 24;
  await screen.show('1\n2\n3\n4\n5\n6\n');
  shown = play(shown, read());
  expect(shown).toEqual(['1', '2', '3', '4', '5', '6']);
  await screen.show('1\n2\n3\n4\n5\n6\n');
  expect(read()).toBe('');
});
