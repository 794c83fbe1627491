import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { patienceMs, within } from '../../support/wait-until';
import { LineLog } from './line-log';
import { projectRoot } from './project-root';

/** A line of cpusetd's log; a line that is no JSON, as after a crash, is `{ msg, raw: true }`. */
export interface LogLine {
  readonly level?: number | string;
  readonly msg?: string;
  readonly raw?: true;
  readonly [fact: string]: unknown;
}

export interface BundleProcessOptions {
  /** The command and its arguments, such as `['run', '--mode', 'nri']`. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Another build than dist/cpusetd.js, such as an earlier version. */
  readonly bundle?: string;
  /** The program of another Node than this one. */
  readonly node?: string;
  /** A command that runs it in its own place, such as {@link inCgroup}. */
  readonly launcher?: readonly string[];
}

export const bundle = join(projectRoot(), 'dist/cpusetd.js');

/**
 * A command of the built cpusetd that runs until it is ended. It can be killed and started again any number of times.
 */
export class BundleProcess {
  readonly log = new LineLog<LogLine>();
  private child: ChildProcess | undefined;
  /** The place in the log where the last start was. */
  private started = 0;
  private closed: Promise<unknown> = Promise.resolve();

  constructor(readonly launch: BundleProcessOptions) {}

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error(`cpusetd ${this.launch.args[0]} was not started`);
    return pid;
  }

  /** The exit status, or the name of the signal that ended it. Undefined while it runs. */
  get outcome(): number | string | undefined {
    return this.child?.exitCode ?? this.child?.signalCode ?? undefined;
  }

  /** The place in the log where the last start was. */
  get startedAt(): number {
    return this.started;
  }

  /** Starts the process. */
  start(): void {
    const { args, env, bundle: file = bundle, node = process.execPath, launcher = [] } = this.launch;
    if (this.child !== undefined && this.outcome === undefined) throw new Error('the process runs already');
    if (!existsSync(file)) throw new Error(`${file} is missing: run \`npm run build\` first`);
    this.log.resume();
    this.started = this.mark();
    const [program, ...rest] = [...launcher, node, file, ...args];
    const child = spawn(program!, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, ...env },
    });
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.log.push(parseLogLine(line)));
    }
    this.child = child;
    this.closed = once(child, 'close').then(() =>
      this.log.end(`cpusetd ${args[0]} has ended (${String(this.outcome)})`),
    );
  }

  /** Waits for a log line, also one already written; `from` (see `mark`) leaves out earlier lines. */
  waitForLog(
    accepts: string | ((line: LogLine) => boolean),
    options: { deadlineMs?: number; from?: number } = {},
  ): Promise<LogLine> {
    const matches = typeof accepts === 'string' ? ({ msg }: LogLine) => msg === accepts : accepts;
    return this.log.waitFor(typeof accepts === 'string' ? `log line "${accepts}"` : 'log line', matches, options);
  }

  /** The place in the log where the next line will be. */
  mark(): number {
    return this.log.lines.length;
  }

  /** Sends the signal and waits for the end. Harmless when it has ended already. @returns exit status or signal name */
  async stop(signal: NodeJS.Signals = 'SIGTERM', deadlineMs = patienceMs): Promise<number | string | undefined> {
    if (this.outcome === undefined) this.child?.kill(signal);
    await within(`the end of cpusetd ${this.launch.args[0]} after ${signal}`, this.closed, deadlineMs);
    return this.outcome;
  }

  /** Waits for it to end by itself. @returns exit status or signal name */
  async ended(deadlineMs = patienceMs): Promise<number | string | undefined> {
    await within(`the end of cpusetd ${this.launch.args[0]}`, this.closed, deadlineMs);
    return this.outcome;
  }

  /** Ends it with SIGKILL. */
  kill(): Promise<number | string | undefined> {
    return this.stop('SIGKILL');
  }
}

function parseLogLine(line: string): LogLine {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === 'object' && parsed !== null) return parsed as LogLine;
  } catch {
    // Not JSON.
  }
  return { msg: line, raw: true };
}
