import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';

/**
 * The wall clock of one process, which can be set while it runs: libfaketime (the Debian package `faketime`) stands
 * between the process and the C library. The monotonic clock is the real one.
 */
export class ProcessClock {
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string>>;

  /** @param file a file that does not exist; it has the offset */
  constructor(private readonly file: string) {
    this.set(0);
    const library = execFileSync('faketime', ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' });
    this.env = {
      LD_PRELOAD: library.trim(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets the clock so many seconds ahead of the machine's; behind it when negative. */
  set(seconds: number): void {
    const next = `${this.file}.next`;
    writeFileSync(next, `${seconds < 0 ? '' : '+'}${seconds}s\n`);
    renameSync(next, this.file); // the process may read it at any time
  }
}
