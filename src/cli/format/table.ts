import { showText } from '../../core/show-text';

/**
 * Columns that line up, two spaces between them, each line ended. Columns without any value are left out, empty cells
 * show as `-`, and what a terminal would obey as an escape: some texts come from pods.
 */
export function formatTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = headers.map((_, column) => rows.length === 0 || rows.some((row) => row[column]));
  const lines = [headers, ...rows.map((row) => row.map((cell) => showText(cell) || '-'))].map((cells) =>
    cells.filter((_, column) => used[column]),
  );
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** A time of the wire, to the second. */
export function formatTime(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}
