import { BundleProcess } from '../../../e2e/rig/bundle-process';
import { waitUntil } from '../../../support/wait-until';
import { ask, findPort } from './extender';

/** The built `cpusetd annotator` as a process. */
export class Annotator extends BundleProcess {
  private constructor(
    readonly port: number,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ) {
    super({ args: ['annotator', '--health-port', String(port), '--log-format', 'json', ...args], env });
  }

  /** Starts it, and waits until its health port answers. */
  static async start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Annotator> {
    const annotator = new Annotator(await findPort(), args, env);
    await annotator.restart();
    return annotator;
  }

  /** Starts it again, and waits until its health port answers. */
  async restart(): Promise<void> {
    this.start();
    await waitUntil('the annotator to be healthy', () => this.isHealthy(), undefined, { everyMs: 20 });
  }

  private async isHealthy(): Promise<boolean> {
    if (this.outcome !== undefined)
      throw new Error(`the annotator has ended: ${JSON.stringify(this.log.lines.slice(-3))}`);
    return (await ask(this.port, '/healthz').catch(() => undefined))?.status === 200;
  }
}
