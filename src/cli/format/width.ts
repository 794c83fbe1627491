import { eastAsianWidth } from 'get-east-asian-width';

/**
 * The columns that a text takes in a terminal. The text was shown (`showText`): it has no controls and no marks that go
 * on top of others.
 */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += eastAsianWidth(character.codePointAt(0)!);
  return width;
}

/** The text with spaces behind it, up to this width. */
export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** A text that is too wide without its middle: names differ at both ends. */
export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const characters = Array.from(text);
  const half = (from: readonly string[], room: number): readonly string[] => {
    let left = room;
    const end = from.findIndex((character) => (left -= widthOf(character)) < 0);
    return end === -1 ? from : from.slice(0, end);
  };
  const head = half(characters, Math.ceil((width - 1) / 2));
  const tail = half([...characters].reverse(), Math.floor((width - 1) / 2));
  return `${head.join('')}…${[...tail].reverse().join('')}`;
}

/** The text in lines of at most this width, broken at spaces; a word that is wider is broken within. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (widthOf(joined) <= width) {
      line = joined;
      continue;
    }
    if (line !== '') lines.push(line);
    line = '';
    for (const character of word) {
      if (line !== '' && widthOf(line + character) > width) {
        lines.push(line);
        line = '';
      }
      line += character;
    }
  }
  return [...lines, line];
}
