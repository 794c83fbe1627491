import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { promisify } from 'node:util';
import { bundle, BundleProcess } from '../../../e2e/rig/bundle-process';
import { loadScript } from '../../../support/load-script';
import { waitUntil } from '../../../support/wait-until';

interface FindPort {
  readonly findPort: () => Promise<number>;
}

/** A port on loopback that is free now. */
export async function findPort(): Promise<number> {
  return (await loadScript<FindPort>('cluster/find-port.mjs')).findPort();
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The contents of PEM files; with a CA the server has TLS. */
export interface Credentials {
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Sends a request to a server on loopback. @param body sent as JSON by POST; absent: GET */
export function ask(port: number, path: string, body?: unknown, credentials?: Credentials): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ofBody = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' } };
    const options = { host: '127.0.0.1', port, path, ...ofBody, ...credentials };
    const call = (credentials ? requestSecurely : request)(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.once('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The built `cpusetd extender` as a process on loopback. */
export class Extender extends BundleProcess {
  private constructor(
    readonly port: number,
    args: readonly string[],
    private readonly credentials: Credentials | undefined,
  ) {
    super({ args: ['extender', '--listen', `127.0.0.1:${port}`, '--log-format', 'json', ...args] });
  }

  /** Starts it, and waits until it answers the scheduler. */
  static async start(args: readonly string[], credentials?: Credentials): Promise<Extender> {
    const extender = new Extender(await findPort(), args, credentials);
    await extender.restart();
    return extender;
  }

  /** The table of `cpusetd extender --explain` for a pod. @param pod `namespace/name` @param more further arguments */
  async explain(pod: string, ...more: readonly string[]): Promise<string> {
    const args = [bundle, 'extender', '--explain', pod, '--listen', `127.0.0.1:${this.port}`, ...more];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  }

  /** Starts it again at the same address after its end. */
  async restart(): Promise<void> {
    this.start();
    await waitUntil('the extender to be ready', () => this.isReady(), undefined, {
      everyMs: 20,
      seen: () => this.log.lines.slice(-3),
    });
  }

  private async isReady(): Promise<boolean> {
    if (this.outcome !== undefined)
      throw new Error(`the extender has ended: ${JSON.stringify(this.log.lines.slice(-3))}`);
    return (await ask(this.port, '/healthz', undefined, this.credentials).catch(() => undefined))?.status === 200;
  }
}
