import { Option, type Command, type Help } from 'commander';

import { quote, type ValueType } from '../../option-types/value-type';
import { UsageError } from '../context';

/** One option of a command. */
export interface TypedOption<T> {
  readonly type: ValueType<T>;
  /** The text as a user would write it; absent = not set. */
  readonly default?: string;
  /** The text that is meant by the flag alone; absent = the flag needs one. */
  readonly alone?: string;
  /** For the help, in one line. */
  readonly description: string;
}

/** Options by their names without dashes. */
type Table = Readonly<Record<string, TypedOption<unknown>>>;

/** The values of a table: undefined only where an option has no default. */
export type ValuesOf<T extends Table> = {
  readonly [Name in keyof T]: T[Name] extends TypedOption<infer V>
    ? T[Name] extends { readonly default: string }
      ? V
      : V | undefined
    : never;
};

/** Adds the options to a command, each with its description in a line below. */
export function addTypedOptions(command: Command, table: Table): void {
  command.configureHelp({ formatItem: formatBelow });
  for (const [name, { type, default: fallback, alone, description }] of Object.entries(table)) {
    const value = alone === undefined ? `<${type.placeholder}>` : `[${type.placeholder}]`;
    const help = fallback === undefined || fallback === '' ? description : `${description} (default ${fallback})`;
    command.addOption(new Option(`--${name} ${value}`, help));
  }
}

/** Reads the options that were given. Throws UsageError with a line for each text that is wrong. */
export function readTypedOptions<T extends Table>(command: Command, table: T): ValuesOf<T> {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { type, default: fallback, alone }] of Object.entries(table)) {
    const option = command.options.find(({ long }) => long === `--${name}`)!;
    const given = command.getOptionValue(option.attributeName()) as string | true | undefined;
    const text = given === true ? alone : (given ?? fallback);
    if (text === undefined) continue;
    const parsed = type.parse(text);
    if (parsed.ok) values[name] = parsed.value;
    else faults.push(`--${name}: ${quote(text)} ${parsed.problem}; ${parsed.remedy}`);
  }
  if (faults.length > 0) throw new UsageError(...faults);
  return values as ValuesOf<T>;
}

/** Puts the description below the option, since options are too long for two columns. */
export function formatBelow(term: string, _termWidth: number, description: string, helper: Help): string {
  return `  ${term}\n${helper.boxWrap(description, (helper.helpWidth ?? 80) - 6).replace(/^/gm, '      ')}`;
}
