import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { within } from './wait-until';

interface ShellOptions {
  /** The program and its arguments. Default: bash. */
  readonly command?: readonly string[];
  readonly cwd?: string;
  /** All variables that it has. */
  readonly env: Readonly<Record<string, string>>;
}

/** A shell that runs blocks of commands one after the other, as someone at a terminal does: its variables stay. */
export class Shell {
  private readonly input: Writable;
  private readonly closed: Promise<unknown>;
  private isClosed = false;
  private output = '';
  private wake: () => void = () => undefined;

  constructor({ command = ['bash', '--noprofile', '--norc'], cwd, env }: ShellOptions) {
    const [program = '', ...args] = command;
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'], ...(cwd !== undefined && { cwd }) });
    this.input = child.stdin.on('error', () => undefined); // the end of the process tells
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
      this.wake();
    });
    this.closed = once(child, 'close').then(() => {
      this.isClosed = true;
      this.wake();
    });
    this.input.write('set -e\n');
  }

  /**
   * Runs commands. Gives what they print, on standard output and standard error together.
   * @throws when one fails. The shell has ended then
   */
  async run(commands: string, deadlineMs = 180_000): Promise<string> {
    const end = '-- end of the commands --\n';
    this.output = '';
    this.input.write(`{\n${commands}\n} < /dev/null 2>&1\necho '${end.trimEnd()}'\n`);
    const waitForEnd = async (): Promise<string> => {
      while (!this.output.endsWith(end)) {
        if (this.isClosed) throw new Error(`one of these commands failed:\n${commands}\nprinted:\n${this.output}`);
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
      return this.output.slice(0, -end.length);
    };
    return within(`the end of:\n${commands}`, waitForEnd(), deadlineMs);
  }

  async close(): Promise<void> {
    this.input.end();
    await this.closed;
  }
}
