import { styleText } from 'node:util';
import type { CliContext } from '../context';

/** The place that text for people goes to. */
export interface Terminal {
  /** Undefined: lines may be of any length, as in a file. */
  readonly width?: number;
  /** Undefined: not a terminal. */
  readonly rows?: number;
  readonly paint: Paint;
}

export type Tone = 'good' | 'warning' | 'bad' | 'dim' | 'strong' | OwnerTone;

/** Owners of CPUs that lie side by side have different ones. */
export const OWNER_TONES = ['first', 'second', 'third', 'fourth', 'fifth'] as const;
type OwnerTone = (typeof OWNER_TONES)[number];

/** Shows a text in a tone, or as it is where there are no colours. */
export type Paint = (text: string, tone: Tone | undefined) => string;

const STYLES = {
  good: 'green',
  warning: 'yellow',
  bad: 'red',
  dim: 'dim',
  strong: 'bold',
  first: 'cyan',
  second: 'magenta',
  third: 'yellow',
  fourth: 'blue',
  fifth: 'green',
} as const satisfies Record<Tone, Parameters<typeof styleText>[0]>;

/** For a file or a pipe: no colours, and lines of any length. */
export const PLAIN: Terminal = { paint: (text) => text };

/** The terminal of a command. Colours are for terminals that have them, unless NO_COLOR is set (no-color.org). */
export function terminalOf({ stdout, env }: Pick<CliContext, 'stdout' | 'env'>): Terminal {
  if (!stdout.isTTY) return PLAIN;
  const { columns = 80, rows = 24 } = stdout;
  const isColored = !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return { width: columns, rows, paint: isColored ? paintStyled : PLAIN.paint };
}

const paintStyled: Paint = (text, tone) =>
  tone === undefined || text === '' ? text : styleText(STYLES[tone], text, { validateStream: false });
