export { formatTime } from '../../core/text';
import { showText } from '../../core/show-text';
import { PLAIN, type Terminal, type Tone } from './terminal';
import { padTo, shorten, widthOf, wrap } from './width';

export interface TableOptions {
  readonly terminal?: Terminal;
  /** The tone of a cell, by its text and the title of its column. */
  readonly toneOf?: (cell: string, title: string) => Tone | undefined;
  /**
   * No column has sentences, and each row is one line: in a narrow terminal the cells of this number of first columns
   * lose their middle, and the others, which have figures, stay whole.
   */
  readonly shortened?: number;
  /** The widths of all columns but the last. Longer cells lose their middle. Absent: as wide as the cells. */
  readonly fixedWidths?: readonly number[];
}

/** The least width of the last column. Where there is less, its texts have lines of their own. */
const MIN_TEXT = 24;
/** The least width of a cell that is shortened. */
const MIN_CELL = 10;
/** The least width of a cell that is shortened where rows are one line. */
const MIN_SHORT_CELL = 6;
/** Spaces between two columns. */
export const COLUMN_GAP = 2;
const GAP = ' '.repeat(COLUMN_GAP);

/**
 * Aligned columns, two spaces between them, a line break after each line. Columns without any value are left out, empty
 * cells show as `-`. Control characters are escaped: some texts come from pods.
 *
 * In a terminal that is too narrow the last column, which has sentences, is broken into lines; where too little is left
 * for it, below the others. When these do not fit either, cells lose their middle: names first, which are in the first
 * two columns. A program reads JSON.
 */
export function formatTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  options: TableOptions = {},
): string {
  const used = headers.map((_, column) => rows.length === 0 || rows.some((row) => row[column]));
  const select = (cells: readonly string[]): readonly string[] => cells.filter((_, column) => used[column]);
  return new ColumnWriter(select(headers), options).format(rows.map(select));
}

/**
 * The same for rows that come one after another: no column is left out, and none is narrower than it was. Where later
 * rows must stand below earlier ones, whatever they have, the widths are fixed.
 */
export class ColumnWriter {
  private readonly widths: number[];
  private hasHeaders = false;

  constructor(
    private readonly headers: readonly string[],
    private readonly options: TableOptions = {},
  ) {
    const { fixedWidths } = options;
    this.widths = fixedWidths ? [...fixedWidths, Infinity] : headers.map(({ length }) => length);
  }

  /** The rows as lines; above the first ones the headers. */
  format(rows: readonly (readonly string[])[]): string {
    const shown = rows.map((row) => row.map((cell) => showText(cell) || '-'));
    if (!this.options.fixedWidths)
      for (const row of shown)
        row.forEach((cell, column) => (this.widths[column] = Math.max(this.widths[column] ?? 0, widthOf(cell))));
    const { terminal, shortened } = this.options;
    const layout = fit(this.widths, terminal?.width, shortened);
    const lines = shown.map((row) => this.formatRow(row, layout));
    if (!this.hasHeaders) lines.unshift(this.formatHeaders(layout));
    this.hasHeaders = true;
    return lines.join('');
  }

  private formatHeaders({ widths, text }: Layout): string {
    const { paint } = this.options.terminal ?? PLAIN;
    const titles = text === 'below' ? this.headers.slice(0, -1) : this.headers;
    return `${titles
      .map((title, column) => {
        const short = shorten(title, widths[column]!);
        return paint(padTo(short, column === titles.length - 1 ? 0 : widths[column]!), 'strong');
      })
      .join(GAP)
      .trimEnd()}\n`;
  }

  private formatRow(row: readonly string[], { widths, text }: Layout): string {
    const { terminal: { width, paint } = PLAIN, toneOf } = this.options;
    const tones = row.map((cell, column) => toneOf?.(cell, this.headers[column]!));
    const painted = row.slice(0, -1).map((cell, column) => {
      const short = shorten(cell, widths[column]!);
      const isLast = text === 'below' && column === row.length - 2;
      return paint(isLast ? short : padTo(short, widths[column]!), tones[column]);
    });
    const last = row.at(-1) ?? '';
    const tone = tones.at(-1);
    if (text === 'below') {
      const below =
        last === '-' ? [] : wrap(last, width! - BELOW.length).map((line) => `${BELOW}${paint(line, tone)}\n`);
      return `${painted.join(GAP).trimEnd()}\n${below.join('')}`;
    }
    const indent = ' '.repeat(widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0));
    const [first = '', ...more] = text === 'whole' ? [shorten(last, widths.at(-1)!)] : wrap(last, widths.at(-1)!);
    const rest = more.map((line) => `${indent}${paint(line, tone)}\n`);
    return `${[...painted, paint(first, tone)].join(GAP).trimEnd()}\n${rest.join('')}`;
  }
}

const BELOW = '    ';

interface Layout {
  readonly widths: readonly number[];
  /** The last column is whole, broken into lines, or below the others. */
  readonly text: 'whole' | 'wrapped' | 'below';
}

/** Fits columns of these widths into a terminal. A last width of Infinity: the others are fixed. */
function fit(natural: readonly number[], width: number | undefined, shortened: number | undefined): Layout {
  const sum = (widths: readonly number[]): number =>
    widths.reduce((total, each) => total + each, 0) + GAP.length * Math.max(0, widths.length - 1);
  if (width === undefined || sum(natural) <= width) return { widths: natural, text: 'whole' };
  if (shortened !== undefined) {
    const widths = [...natural];
    const columns = widths.map((_, column) => column).slice(0, shortened);
    shrink(widths, columns, sum(widths) - width, MIN_SHORT_CELL);
    return { widths, text: 'whole' };
  }
  const [names, last] = [natural.slice(0, -1), natural.at(-1)!];
  const room = width - sum(names) - GAP.length;
  if (room >= Math.min(last, MIN_TEXT)) return { widths: [...names, room], text: 'wrapped' };
  if (last === Infinity) return { widths: natural, text: 'below' };
  const widths = [...names];
  const columns = widths.map((_, column) => column);
  shrink(widths, columns.slice(0, 2), sum(widths) - width, MIN_CELL);
  shrink(widths, columns, sum(widths) - width, MIN_CELL);
  return { widths: [...widths, last], text: 'below' };
}

/** Makes the widest of these columns narrower until the excess is gone, or all have the least width. */
function shrink(widths: number[], columns: readonly number[], excess: number, least: number): void {
  for (let left = excess; left > 0; left--) {
    const widest = columns.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
    if (widths[widest]! <= least) return;
    widths[widest]! -= 1;
  }
}
