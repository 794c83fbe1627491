import { formatData } from '../cli/format/data';
import { formatTable } from '../cli/format/table';
import { terminalOf, type Terminal, type Tone } from '../cli/format/terminal';
import { wrap } from '../cli/format/width';
import { write } from '../cli/context';
import { showText } from '../core/show-text';
import { plural } from '../core/text';
import type { PluginContext } from './context';
import type { Format } from './options';

/** A table as a person reads it, and the same as data. */
export interface Printed {
  readonly data: object;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly toneOf?: (cell: string, title: string) => Tone | undefined;
  /** A line above the table. */
  readonly title?: string;
  /** Instead of a table without rows. */
  readonly empty?: string;
}

/** Prints in the format that was asked for. `wide` is a table whose lines may have any length. */
export async function print(context: PluginContext, output: Format, printed: Printed): Promise<void> {
  if (output === 'json' || output === 'yaml') {
    await write(context.stdout, await formatData(printed.data, output));
    return;
  }
  const { headers, rows, toneOf = toneOfCell, title, empty = 'None.' } = printed;
  const terminal = terminalOf(context);
  const table: { terminal: Terminal; toneOf: typeof toneOf } = {
    terminal: output === 'wide' ? { paint: terminal.paint } : terminal,
    toneOf,
  };
  const body = rows.length === 0 ? `${empty}\n` : formatTable(headers, rows, table);
  await write(
    context.stdout,
    `${title === undefined ? '' : `${wrap(showText(title), table.terminal.width ?? Infinity).join('\n')}\n\n`}${body}`,
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  yes: 'good',
  no: 'bad',
  ready: 'good',
  'not-ready': 'bad',
  silent: 'bad',
  absent: 'dim',
  kept: 'good',
  violated: 'bad',
  drifted: 'warning',
};

export function toneOfCell(cell: string, title: string): Tone | undefined {
  if (cell === '-') return 'dim';
  if (title === 'ALARMS') return 'bad';
  return title === 'NODE' || title === 'POD' ? undefined : TONES[cell];
}

/** Some names, and how many more there are. */
export function listSome(names: readonly string[], most = 3, separator = ', '): string {
  const more = names.length - most;
  const some = names.slice(0, most).join(separator);
  return more > 0 ? `${some}${separator === ', ' ? ' ' : separator}and ${plural(more, 'other')}` : some;
}
