import type { Random } from './random';

/**
 * Characters that a terminal obeys, hides, or moves elsewhere. They are listed in another way than in the code under
 * test: by Unicode's categories, and by the names of the scripts that run from right to left.
 */
const UNSAFE = new RegExp(
  [
    '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{M}\\p{Default_Ignorable_Code_Point}\\p{Bidi_Control}]',
    ...[
      'Hebrew',
      'Arabic',
      'Syriac',
      'Thaana',
      'Nko',
      'Samaritan',
      'Mandaic',
      'Adlam',
      'Phoenician',
      'Old_Turkic',
      'Rohingya',
    ].map((script) => `\\p{Script=${script === 'Rohingya' ? 'Hanifi_Rohingya' : script}}`),
  ].join('|'),
  'u',
);

/** The code point of the first unsafe character of a line; undefined when there is none. */
export function unsafeIn(line: string): string | undefined {
  const found = UNSAFE.exec(line)?.[0];
  return found === undefined
    ? undefined
    : `U+${found.codePointAt(0)!.toString(16)} in ${JSON.stringify(line.slice(0, 200))}`;
}

/** Every character of Unicode, and the lone surrogates. */
export function* listSpecial(): Iterable<string> {
  for (let code = 0; code <= 0x10ffff; code++) yield String.fromCodePoint(code);
}

/** Characters that attacks are made of. */
const FAVOURITES = Array.from(
  '\u001b\u009b\r\n\t\b\u0000\u007f\u0085\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u200b\u200d\u2060\ufeff\u2028\u2029\u05d0\u0301',
);

/**
 * Random text of this length: half of it plain, the rest characters of attacks, or any of Unicode, lone surrogates
 * included.
 */
export function randomText(random: Random, length: number): string {
  let text = '';
  for (let i = 0; i < length; i++) {
    if (random.chance(0.5)) text += String.fromCharCode(random.int(0x20, 0x7e));
    else text += random.chance(0.5) ? random.pick(FAVOURITES) : String.fromCodePoint(random.int(0, 0x10ffff));
  }
  return text;
}
