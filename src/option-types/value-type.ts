import type * as zod from 'zod/mini';

/**
 * The functions of the library that types of values use, as a parameter: loading it takes longer than the daemon may
 * take for its start, and few commands need it.
 */
export type Zod = Pick<
  typeof zod,
  | 'array'
  | 'boolean'
  | 'enum'
  | 'int'
  | 'literal'
  | 'maximum'
  | 'minimum'
  | 'minLength'
  | 'nonnegative'
  | 'number'
  | 'positive'
  | 'record'
  | 'regex'
  | 'string'
  | 'union'
>;

/** The texts that an option accepts, and their meaning. The same for flags, environment and file. */
export interface ValueType<T> {
  /** The value's name in the help, e.g. `host:port`. */
  readonly placeholder: string;
  readonly parse: (text: string) => Parsed<T>;
  /**
   * The values of YAML or JSON that stand for such a text, as an editor checks them; absent = any text. `parse` has the
   * last word.
   */
  readonly inFile?: (z: Zod) => zod.ZodMiniType;
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  /** `problem` goes on from the quoted text ("is not a duration"), `remedy` says what to write instead. */
  | { readonly ok: false; readonly problem: string; readonly remedy: string };

/** The text is fine, and means this. */
export function accept<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** The text is not: what is wrong with it, and what to write instead. */
export function reject(problem: string, remedy: string): Parsed<never> {
  return { ok: false, problem, remedy };
}

/** The number of characters of a text that a message about it shows. */
const SHOWN = 100;

/** A text for a message: in one line whatever is in it, and not longer than a reader can use. */
export function quote(text: string): string {
  const shown = JSON.stringify(text.slice(0, SHOWN));
  return text.length <= SHOWN ? shown : `${shown}... (${text.length} characters)`;
}

/** The same without quotation marks. */
export function excerpt(text: string): string {
  return JSON.stringify(text.slice(0, SHOWN)).slice(1, -1) + (text.length <= SHOWN ? '' : '...');
}

/** `off` is no value; everything else is of the given type. */
export function orOff<T>(type: ValueType<T>): ValueType<T | undefined> {
  return {
    placeholder: `${type.placeholder}|off`,
    parse: (text) => (text === 'off' ? accept(undefined) : type.parse(text)),
    inFile: (z) => z.union([z.literal('off'), describeInFile(type, z)]),
  };
}

/** One of a few words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): ValueType<Word> {
  return {
    placeholder: words.join('|'),
    parse: (text) => {
      const word = words.find((candidate) => candidate === text);
      return word === undefined
        ? reject('is not a known value', words.length === 1 ? `write ${words[0]}` : `choose one of ${words.join(', ')}`)
        : accept(word);
    },
    inFile: (z) => z.enum(words),
  };
}

/** `on` or `off`. */
export const onOff: ValueType<boolean> = {
  placeholder: 'on|off',
  parse: (text) =>
    text === 'on' || text === 'off' ? accept(text === 'on') : reject('is not a switch', 'write on or off'),
  inFile: (z) => z.enum(['on', 'off']),
};

/** A whole number from `min` to `max`. */
export function wholeNumber({ min, max }: { readonly min: number; readonly max: number }): ValueType<number> {
  return {
    placeholder: 'n',
    parse: (text) => {
      const remedy = `write a whole number from ${min} to ${max}`;
      if (!/^\d{1,15}$/.test(text)) return reject('is not a whole number', remedy);
      const value = Number(text);
      return value >= min && value <= max ? accept(value) : reject('is out of range', remedy);
    },
    inFile: (z) => z.union([z.int().check(z.minimum(min), z.maximum(max)), z.string().check(z.regex(/^\d{1,15}$/))]),
  };
}

/** Text of a certain form. */
export function matching(
  pattern: RegExp,
  placeholder: string,
  { problem, remedy }: { readonly problem: string; readonly remedy: string },
): ValueType<string> {
  return {
    placeholder,
    parse: (text) => (pattern.test(text) ? accept(text) : reject(problem, remedy)),
    inFile: (z) => textOf(z, pattern),
  };
}

/** The values of a file that an option accepts. */
export function describeInFile({ inFile }: Pick<ValueType<unknown>, 'inFile'>, z: Zod): zod.ZodMiniType {
  return inFile ? inFile(z) : z.string();
}

/** A text of this form; a number, where the form allows digits alone: YAML takes them for one. */
export function textOf(z: Zod, pattern: RegExp): zod.ZodMiniType {
  const text = z.string().check(z.regex(pattern));
  return pattern.test('10') ? z.union([text, z.int().check(z.nonnegative())]) : text;
}
