import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { LineLog } from './line-log';
import { projectRoot } from './project-root';

interface Line {
  readonly event: string;
  /** The reason of the event `failed`. */
  readonly reason?: string;
}

/** The facts of each event that a script prints, by its name. */
interface ScriptEvents {
  readonly ready: object;
  readonly stopped: object;
}

export interface ScriptOptions {
  /** The server that it runs, as errors name it, such as `the kubelet`. */
  readonly what: string;
  /** Its path, from the root of the project. */
  readonly script: string;
  readonly args: readonly string[];
  /** A command that runs the script, such as one that makes a network namespace for it. */
  readonly launcher?: readonly string[];
  /** Variables besides those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The time for a start and for the answer to a command. */
const deadlineMs = 180_000;

/**
 * A script of the project that runs a server as long as this process lives: the other end of
 * scripts/shared/serve-attached.mjs. It prints events, takes commands on standard input, and stops its server when that
 * closes, also after a crash of this process.
 */
export class AttachedScript<Events extends ScriptEvents> {
  private readonly what: string;
  private readonly events = new LineLog<Line>();
  private readonly commands: Writable;
  private readonly closed: Promise<void>;

  /** Starts it. */
  constructor({ what, script, args, launcher = [], env = {} }: ScriptOptions) {
    const [program, ...more] = [...launcher, process.execPath, resolve(projectRoot(), script), '--attached', ...args];
    const child = spawn(program!, more, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
    this.what = what;
    this.commands = child.stdin.on('error', () => undefined); // the end of the process tells
    createInterface({ input: child.stdout }).on('line', (line) => this.events.push(JSON.parse(line) as Line));
    this.closed = once(child, 'close').then(() => this.events.end(`${what} has ended`));
  }

  /** Waits until the server runs. @returns its facts */
  ready(): Promise<Events['ready']> {
    return this.expect('ready', 0);
  }

  /** Sends a command and waits for its answer. */
  async command(line: string, answer: Exclude<keyof Events, keyof ScriptEvents> & string): Promise<void> {
    const from = this.events.lines.length;
    this.commands.write(`${line}\n`);
    await this.expect(answer, from);
  }

  /** Stops the server, and waits for the end of the script. @throws when it did not end in order */
  async stop(): Promise<Events['stopped']> {
    this.commands.end();
    await this.closed;
    const last = this.events.lines.at(-1);
    if (last?.event !== 'stopped') throw new Error(`${this.what} did not end in order: ${JSON.stringify(last)}`);
    return factsOf(last);
  }

  private async expect<Name extends keyof Events & string>(name: Name, from: number): Promise<Events[Name]> {
    const isAnswer = ({ event }: Line) => event === name || event === 'failed';
    const got = await this.events.waitFor(`${this.what}: ${name}`, isAnswer, { deadlineMs, from });
    if (got.event === 'failed') throw new Error(`${this.what} failed: ${got.reason}`);
    return factsOf(got) as Events[Name];
  }
}

const factsOf = ({ event: _event, ...facts }: Line): object => facts;
