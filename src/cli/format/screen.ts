import type { Writable } from 'node:stream';
import { showText } from '../../core/show-text';
import { write } from '../context';
import { shorten } from './width';

/** A terminal that is written to again and again. It emits `resize`. */
interface ScreenOutput extends Writable {
  readonly columns?: number;
  readonly rows?: number;
}

/** The lines above stay in the memory of the terminal. */
const HOME_AND_CLEAR = '\u001b[H\u001b[2J';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const moveTo = (line: number): string => `\u001b[${line + 1};1H`;

/**
 * Shows a text that changes: only lines that differ from what is there are written again. A resized terminal is painted
 * anew.
 */
export class Screen {
  private shown: readonly string[] | undefined;
  private size = '';
  private note = '';
  private painting: Promise<void> = Promise.resolve();
  private readonly onResize = (): void => void this.paint().catch(() => undefined); // the next text fails again

  /**
   * @param render the text for the terminal as it is now, which has room for a number of lines; what has no room below
   * is counted
   */
  constructor(
    private readonly out: ScreenOutput,
    private readonly render: (lines: number) => Promise<string>,
  ) {
    out.on('resize', this.onResize);
  }

  /** Paints the text of now. `note`: a line above it; absent: none. */
  async refresh(note = ''): Promise<void> {
    this.note = note;
    await this.paint();
  }

  close(): void {
    this.out.off('resize', this.onResize);
  }

  /** Paints the text of now below the same note. */
  paint(): Promise<void> {
    this.painting = this.painting.catch(() => undefined).then(() => this.paintNow());
    return this.painting;
  }

  private async paintNow(): Promise<void> {
    const { columns = 80, rows = 24 } = this.out;
    const note = this.note === '' ? [] : [shorten(showText(this.note), columns), ''];
    const text = await this.render(Math.max(1, rows - 1 - note.length));
    const size = `${columns}x${rows}`;
    if (size !== this.size) this.shown = undefined; // the terminal has moved its lines
    this.size = size;
    const lines = cutTo([...note, ...text.replace(/\n$/, '').split('\n')], rows - 1);
    const change = repaint(this.shown, lines);
    this.shown = lines;
    if (change !== '') await write(this.out, change);
  }
}

function cutTo(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const kept = Math.max(1, rows - 1);
  return [...lines.slice(0, kept), `… ${lines.length - kept} more lines; choose containers, or enlarge the window`];
}

/** The control sequences and texts that turn these lines into those. `before`: undefined for an unknown screen. */
export function repaint(before: readonly string[] | undefined, after: readonly string[]): string {
  const start = before ? '' : HOME_AND_CLEAR;
  const changes = after.flatMap((line, i) => (before?.[i] === line ? [] : [`${moveTo(i)}${line}${CLEAR_LINE}`]));
  const isShorter = before !== undefined && before.length > after.length;
  if (changes.length === 0 && !isShorter) return start;
  return `${start}${changes.join('')}${moveTo(after.length)}${isShorter ? CLEAR_BELOW : ''}`;
}
