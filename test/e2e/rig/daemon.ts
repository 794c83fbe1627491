import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { patienceMs, within } from '../../support/wait-until';
import { LineLog } from './line-log';
import { projectRoot } from './project-root';

/** A line of the daemon's log; a line that is no JSON, as after a crash, is `{ msg, raw: true }`. */
export interface LogLine {
  readonly level?: number | string;
  readonly msg?: string;
  readonly raw?: true;
  readonly [fact: string]: unknown;
}

export interface DaemonOptions {
  /** The arguments after `cpusetd run`, besides the folders and sockets below. */
  readonly args: readonly string[];
  /** The runtime whose sockets it gets; absent: `args` name the sockets. */
  readonly runtime?: { readonly nriSocket: string; readonly criSocket: string };
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of its state, instead of one of its own. */
  readonly stateDir?: string;
  /** The socket of the CRI proxy, instead of one of its own. */
  readonly criListen?: string;
  /** Another build than dist/cpusetd.js, such as an earlier version. */
  readonly bundle?: string;
  /** Its clock is stepped: its times can't be compared. */
  readonly clock?: 'stepped';
}

/** The folder of locks for all daemons of a test, as on a host: only one daemon may serve a runtime. */
const lockDir = join(tmpdir(), `cpusetd-locks-${process.pid}`);
/** The daemons that use the folder of locks. The last one that is disposed of removes it. */
const users = new Set<Daemon>();

export const bundle = join(projectRoot(), 'dist/cpusetd.js');

/**
 * The built daemon as a process, with state and sockets in a folder of its own. It can be killed and started again on the same state any
 * number of times.
 */
export class Daemon {
  readonly log = new LineLog<LogLine>();
  readonly dir = mkdtempSync(join(tmpdir(), 'cpusetd-d-'));
  readonly stateDir: string;
  readonly adminSocket = join(this.dir, 'admin.sock');
  readonly criListen: string;
  #child: ChildProcess | undefined;
  /** The place in the log where the last start was. */
  #started = 0;
  #closed: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: DaemonOptions) {
    this.criListen = options.criListen ?? join(this.dir, 'cri.sock');
    this.stateDir = options.stateDir ?? join(this.dir, 'state');
    users.add(this);
  }

  get clock(): 'steady' | 'stepped' {
    return this.options.clock ?? 'steady';
  }

  get isOtherVersion(): boolean {
    return this.options.bundle !== undefined;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('the daemon was not started');
    return pid;
  }

  /** The exit status, or the name of the signal that ended it. Undefined while it runs. */
  get outcome(): number | string | undefined {
    return this.#child?.exitCode ?? this.#child?.signalCode ?? undefined;
  }

  /** Starts the process. */
  start(): void {
    if (this.#child !== undefined && this.outcome === undefined) throw new Error('the daemon runs already');
    const file = this.options.bundle ?? bundle;
    if (!existsSync(file)) throw new Error(`${file} is missing: run \`npm run build\` first`);
    this.log.resume();
    this.#started = this.mark();
    const child = spawn(process.execPath, [file, 'run', ...this.#ownArgs(), ...this.options.args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, ...this.options.env },
    });
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.log.push(parseLogLine(line)));
    }
    this.#child = child;
    this.#closed = once(child, 'close').then(() => this.log.end(`the daemon has ended (${String(this.outcome)})`));
  }

  /** Waits for a log line, also one already written; `from` (see `mark`) leaves out earlier lines. */
  waitForLog(
    accepts: string | ((line: LogLine) => boolean),
    options: { deadlineMs?: number; from?: number } = {},
  ): Promise<LogLine> {
    const matches = typeof accepts === 'string' ? ({ msg }: LogLine) => msg === accepts : accepts;
    return this.log.waitFor(typeof accepts === 'string' ? `log line "${accepts}"` : 'log line', matches, options);
  }

  /** Waits until the process of the last start serves the runtime (a plugin is synchronized, a proxy listens) and its admin socket. */
  async ready(): Promise<void> {
    const serves = this.options.args.includes('cri-proxy') ? 'the CRI proxy listens' : 'synchronized with the runtime';
    // Either may come first.
    await Promise.all([serves, 'started'].map((line) => this.waitForLog(line, { from: this.#started })));
  }

  /** The place in the log where the next line will be. */
  mark(): number {
    return this.log.lines.length;
  }

  /** Sends the signal and waits for the end. Harmless when it has ended already. @returns exit status or signal name */
  async stop(signal: NodeJS.Signals = 'SIGTERM', deadlineMs = patienceMs): Promise<number | string | undefined> {
    if (this.outcome === undefined) this.#child?.kill(signal);
    await within(`the daemon's end after ${signal}`, this.#closed, deadlineMs);
    return this.outcome;
  }

  /** Waits for it to end by itself. @returns exit status or signal name */
  async ended(deadlineMs = patienceMs): Promise<number | string | undefined> {
    await within("the daemon's end", this.#closed, deadlineMs);
    return this.outcome;
  }

  /** Ends it with SIGKILL. */
  kill(): Promise<number | string | undefined> {
    return this.stop('SIGKILL');
  }

  /** Ends it, with SIGKILL if necessary, and removes its folder, and that of the locks with the last daemon. */
  async dispose(): Promise<void> {
    await this.stop('SIGTERM', 30_000).catch(() => this.kill());
    rmSync(this.dir, { recursive: true, force: true });
    users.delete(this);
    if (users.size === 0) rmSync(lockDir, { recursive: true, force: true });
  }

  #ownArgs(): string[] {
    const { runtime } = this.options;
    return [
      ...['--state-dir', this.stateDir, '--admin-socket', this.adminSocket],
      ...(this.options.args.includes('cri-proxy') ? ['--cri-listen', this.criListen] : []),
      ...(runtime === undefined ? [] : ['--nri-socket', runtime.nriSocket, '--cri-endpoint', runtime.criSocket]),
      ...(this.options.bundle === undefined ? ['--lock-dir', lockDir] : []), // an earlier version has no such option
      ...['--log-format', 'json'],
    ];
  }
}

/** A started daemon; see {@link Daemon}. */
export function startDaemon(options: DaemonOptions): Daemon {
  const daemon = new Daemon(options);
  daemon.start();
  return daemon;
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
