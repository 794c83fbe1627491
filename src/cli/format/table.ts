import { showText } from '../../core/show-text';

/**
 * Aligned columns, two spaces between them, a line break after each line. Columns without any value are left out, empty cells
 * show as `-`. Control characters are escaped: some texts come from pods.
 */
export function formatTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = headers.map((_, column) => rows.length === 0 || rows.some((row) => row[column]));
  const select = (cells: readonly string[]): readonly string[] => cells.filter((_, column) => used[column]);
  return new ColumnWriter(select(headers)).format(rows.map(select));
}

/** A timestamp of the API without fractions of a second. */
export function formatTime(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

/**
 * Aligned columns for rows that come one after another: a column is never narrower than it was, so that later rows stand below earlier ones.
 * Control characters are escaped.
 */
export class ColumnWriter {
  private readonly widths: number[];
  private hasHeaders = false;

  constructor(private readonly headers: readonly string[]) {
    this.widths = headers.map(({ length }) => length);
  }

  /** The rows as lines; above the first ones the headers. */
  format(rows: readonly (readonly string[])[]): string {
    const shown = rows.map((row) => row.map((cell) => showText(cell) || '-'));
    for (const row of shown)
      row.forEach((cell, column) => (this.widths[column] = Math.max(this.widths[column] ?? 0, cell.length)));
    const lines = this.hasHeaders ? shown : [this.headers, ...shown];
    this.hasHeaders = true;
    return lines.map((line) => this.formatLine(line)).join('');
  }

  private formatLine(cells: readonly string[]): string {
    return `${cells
      .map((cell, column) => cell.padEnd(this.widths[column] ?? 0))
      .join('  ')
      .trimEnd()}\n`;
  }
}
