import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { LineLog } from './line-log';

/** The answer of the plugins to one request. */
export interface RelayedAnswer {
  /** The bytes of the message; none of an empty one. */
  readonly response: Buffer;
  /** The request has failed. */
  readonly error?: string;
  readonly ms: number;
}

/** A line of the program nri-runtime of scripts/go-programs. */
interface Line {
  readonly listening?: true;
  readonly synchronizing?: true;
  readonly response?: string;
  readonly error?: string;
  readonly ms?: number;
}

/**
 * The runtime's side of NRI by its own package, in a process: it has no containers, and relays one request after the
 * other to its plugins.
 */
export class NriRuntimeProcess {
  private readonly lines = new LineLog<Line>();
  private readonly child: ChildProcess;
  private readonly closed: Promise<unknown>;

  /** Listens on the socket; a request that takes longer than the timeout has no answer. */
  constructor(program: string, socketPath: string, timeoutMs: number) {
    this.child = spawn(program, [socketPath, `${timeoutMs}ms`], { stdio: 'pipe' });
    createInterface({ input: this.child.stdout! }).on('line', (line) => this.lines.push(JSON.parse(line) as Line));
    let lastSaid = '';
    createInterface({ input: this.child.stderr! }).on('line', (line) => (lastSaid = line));
    this.closed = once(this.child, 'close').then(() => this.lines.end(`nri-runtime has ended: ${lastSaid}`));
  }

  /** Resolves when plugins can connect. */
  async listening(): Promise<void> {
    await this.lines.waitFor('the socket of nri-runtime', ({ listening }) => listening === true);
  }

  /** The number of times that a plugin has connected. */
  get connections(): number {
    const { lines } = this.lines;
    return lines.slice(lines.findIndex(({ listening }) => listening)).filter(({ synchronizing }) => synchronizing)
      .length;
  }

  /** Resolves when a plugin has connected so many times. */
  async untilConnected(times: number): Promise<void> {
    await this.lines.waitFor(`connection ${times} of a plugin`, () => this.connections >= times);
  }

  /** Relays a request, the bytes of its message, to the plugins. */
  async relay(method: string, request: Uint8Array): Promise<RelayedAnswer> {
    const from = this.lines.lines.length;
    this.child.stdin!.write(`${JSON.stringify({ method, request: Buffer.from(request).toString('base64') })}\n`);
    const line = await this.lines.waitFor(`the answer to ${method}`, ({ ms }) => ms !== undefined, { from });
    const { response = '', error, ms = 0 } = line;
    return { response: Buffer.from(response, 'base64'), ...(error !== undefined && { error }), ms };
  }

  async stop(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.closed;
  }
}

/** A socket in front of another that tells when the other side sends something. */
export class WatchedSocket {
  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    private readonly listeners: Set<() => void>,
  ) {}

  static async listen(path: string, target: string): Promise<WatchedSocket> {
    const listeners = new Set<() => void>();
    const server = createServer((near) => {
      const far = createConnection(target);
      far.on('data', (bytes) => {
        near.write(bytes);
        for (const notify of [...listeners]) notify();
      });
      near.on('data', (bytes) => far.write(bytes));
      for (const [source, target] of [
        [near, far],
        [far, near],
      ] as const)
        source.on('error', () => undefined).on('close', () => target.destroy());
    });
    server.listen(path);
    await once(server, 'listening');
    return new WatchedSocket(server, listeners);
  }

  /** Resolves when the other side has sent something. */
  async nextSent(): Promise<void> {
    await new Promise<void>((resolve) => {
      const notify = () => {
        this.listeners.delete(notify);
        resolve();
      };
      this.listeners.add(notify);
    });
  }

  close(): void {
    this.server.close();
  }
}
