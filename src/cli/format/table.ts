import { showText } from '../../core/show-text';

/**
 * Aligned columns, two spaces between them, a line break after each line. Columns without any value are left out, empty cells
 * show as `-`. Control characters are escaped: some texts come from pods.
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

/** A timestamp of the API without fractions of a second. */
export function formatTime(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}
