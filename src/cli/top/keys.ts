import type { CliContext } from '../context';

/** The key that a program in raw mode gets for Ctrl-C. */
const CTRL_C = '\u0003';

export interface KeyHandlers {
  readonly onKey: (key: string) => void;
  /** `q`, Ctrl-C, or the end of the terminal. */
  readonly onQuit: () => void;
}

/**
 * Reads single keys until it is closed. The terminal is in raw mode meanwhile, so that keys are not shown and need no
 * Enter.
 */
export class Keys {
  private readonly onData = (bytes: Buffer | string): void => this.take(String(bytes));
  private readonly onEnd = (): void => this.handlers.onQuit();

  /** `stdin`: a terminal. */
  constructor(
    private readonly stdin: CliContext['stdin'],
    private readonly handlers: KeyHandlers,
  ) {
    stdin.setRawMode?.(true);
    stdin.on('data', this.onData).on('end', this.onEnd).on('error', this.onEnd);
    stdin.resume();
  }

  /** Gives the terminal back as it was. */
  close(): void {
    this.stdin.setRawMode?.(false);
    this.stdin.pause();
    this.stdin.off('data', this.onData).off('end', this.onEnd).off('error', this.onEnd);
  }

  private take(text: string): void {
    if (text.startsWith('\u001b')) return; // an arrow, a function key
    for (const key of text) {
      if (key === 'q' || key === CTRL_C) this.handlers.onQuit();
      else this.handlers.onKey(key);
    }
  }
}
