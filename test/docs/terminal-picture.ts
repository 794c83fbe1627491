// Draws the output of commands in a terminal as SVG: letters in a grid, in the colours that the command gave them.

/** Pixels of one character, and around the whole. */
const CELL = { width: 8.4, height: 19 };
const MARGIN = 16;
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const COLORS = { background: '#0d1117', text: '#e6edf3', prompt: '#7ee787' };

/** The style that each SGR code of `src/cli/format/terminal.ts` switches on; others switch it off. */
const STYLES: Readonly<Record<string, string>> = {
  1: 'font-weight="bold"',
  2: 'fill="#8b949e"',
  31: 'fill="#ff7b72"',
  32: 'fill="#7ee787"',
  33: 'fill="#e3b341"',
  34: 'fill="#79c0ff"',
  35: 'fill="#d2a8ff"',
  36: 'fill="#56d4dd"',
};
const OFF = new Set(['22', '39']);

/** Letters of one style, and the column of the first one. */
interface Run {
  readonly column: number;
  readonly text: string;
  readonly style: string;
}

/**
 * Draws a session: lines after `$ ` are what was typed.
 * @throws {Error} for an escape sequence that is not known here
 */
export function drawTerminal(session: string, columns: number): string {
  const lines = session.split('\n');
  const width = Math.ceil(columns * CELL.width + 2 * MARGIN);
  const height = Math.ceil(lines.length * CELL.height + 2 * MARGIN);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"` +
      ` font-family="${FONT}" font-size="14" fill="${COLORS.text}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${COLORS.background}"/>`,
    ...lines.flatMap((line, row) => readRuns(line).map((run) => drawRun(run, row))),
    '</svg>\n',
  ].join('\n');
}

function readRuns(line: string): Run[] {
  const [, command] = /^\$ (.*)$/.exec(line) ?? [];
  if (command !== undefined)
    return [
      { column: 0, text: '$', style: `fill="${COLORS.prompt}"` },
      { column: 2, text: command, style: STYLES[1]! },
    ];
  const runs: Run[] = [];
  let column = 0;
  let style = '';
  for (const [index, part] of line.split(/\u001b\[(\d+)m/).entries()) {
    if (index % 2 === 1) style = styleOf(part);
    else {
      if (part.trim() !== '') runs.push({ column, text: part, style });
      column += part.length;
    }
  }
  return runs;
}

function styleOf(code: string): string {
  const style = STYLES[code];
  if (style === undefined && !OFF.has(code)) throw new Error(`the picture knows no SGR code ${code}`);
  return style ?? '';
}

/** Each run has its own place and length, so that columns stand one below the other in any font. */
function drawRun({ column, text, style }: Run, row: number): string {
  const shown = text.trim();
  const x = MARGIN + (column + text.length - text.trimStart().length) * CELL.width;
  const y = MARGIN + (row + 0.75) * CELL.height;
  const place = `x="${x.toFixed(1)}" y="${y.toFixed(1)}" textLength="${(shown.length * CELL.width).toFixed(1)}"`;
  return `<text ${place}${style === '' ? '' : ` ${style}`} xml:space="preserve">${escape(shown)}</text>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
