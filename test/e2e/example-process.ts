import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { poll, type RunningContainer } from './rig';
import { LineLog } from './rig/line-log';
import { projectRoot } from './rig/project-root';

/** An example of examples/, as `npm run build` compiles it: it imports the built `cpusetd/nri`. */
export class Example {
  readonly stdout = new LineLog<string>();
  readonly stderr = new LineLog<string>();
  readonly closed: Promise<unknown>;
  private readonly child: ChildProcess;

  constructor(name: string, nriSocket: string) {
    const child = spawn(process.execPath, [join(projectRoot(), `dist/examples/${name}.js`), nriSocket], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of ['stdout', 'stderr'] as const)
      createInterface({ input: child[stream] }).on('line', (line) => this[stream].push(line));
    this.closed = once(child, 'close').then(() => {
      for (const lines of [this.stdout, this.stderr]) lines.end(`${name} has ended (${String(child.exitCode)})`);
    });
    this.child = child;
  }

  /** Resolves when the runtime sends it events. */
  ready(from = 0): Promise<string> {
    return this.stderr.waitFor('synchronization', (line) => line.includes('synchronized with the runtime'), { from });
  }

  /** Waits for a printed object with these properties. */
  async printed(facts: Readonly<Record<string, string>>): Promise<void> {
    await this.stdout.waitFor(`a line with ${JSON.stringify(facts)}`, (line) => {
      const shown = JSON.parse(line) as Record<string, unknown>;
      return Object.entries(facts).every(([key, value]) => shown[key] === value);
    });
  }

  /** Ends it with SIGTERM; resolves with its exit status. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    await this.closed;
    return this.child.exitCode;
  }
}

/** The environment of the first process; the kernel shows an empty one while a process begins another program. */
export async function environmentOf(container: RunningContainer): Promise<string[]> {
  await container.firstLine();
  const read = () => readFileSync(`/proc/${container.pids()[0]}/environ`, 'utf8') || undefined;
  return (await poll('the environment', read)).split('\0');
}
