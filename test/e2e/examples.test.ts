import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onEachRuntime, poll, printMaskThenSleep, type Runtime, type RunningContainer, startRuntime } from './rig';
import { LineLog } from './rig/line-log';
import { projectRoot } from './rig/project-root';

jest.setTimeout(300_000);

/** An example of examples/, as `npm run build` compiles it: it imports the built `cpusetd/nri`. */
class Example {
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

/** A container whose program prints a line: before that, the first process is still runc. */
const main = { name: 'main', command: printMaskThenSleep };

/** The environment of the first process; the kernel shows an empty one while a process begins another program. */
async function environmentOf(container: RunningContainer): Promise<string[]> {
  await container.firstLine();
  const read = () => readFileSync(`/proc/${container.pids()[0]}/environ`, 'utf8') || undefined;
  return (await poll('the environment', read)).split('\0');
}

onEachRuntime('the examples of cpusetd/nri', (suite) => {
  let runtime: Runtime;
  const examples: Example[] = [];
  const start = async (name: string): Promise<Example> => {
    const example = new Example(name, runtime.nriSocket);
    examples.push(example);
    await example.ready();
    return example;
  };
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());
  afterEach(async () => {
    for (const example of examples.splice(0)) expect(await example.stop()).toBe(0);
  });

  test('log-containers given a container that runs and one that starts later, then it prints both with pod and namespace, and their ends', async () => {
    const pod = await runtime.kubelet.runPod({
      name: 'web',
      namespace: 'shop',
      containers: [{ name: 'old' }, { name: 'young' }],
    });
    const old = await pod.startContainer('old');
    const example = await start('log-containers');
    await example.printed({ event: 'running', namespace: 'shop', pod: 'web', container: 'old', id: old.id });

    const young = await pod.startContainer('young');
    await example.printed({ event: 'started', namespace: 'shop', pod: 'web', container: 'young', id: young.id });
    await pod.remove();
    for (const event of ['stopped', 'removed'])
      for (const { id } of [old, young]) await example.printed({ event, id, namespace: 'shop', pod: 'web' });
  });

  test('env-from-annotation given a pod with the annotation, then its containers have the variable, and those of others not', async () => {
    await start('env-from-annotation');
    const containers = [main];
    const annotated = await runtime.kubelet.runPod({
      annotations: { 'env.example.com/GREETING': 'hello' },
      containers,
    });
    const plain = await runtime.kubelet.runPod({ annotations: { 'example.com/GREETING': 'hello' }, containers });
    expect(await environmentOf(await annotated.startContainer('main'))).toContain('GREETING=hello');
    expect((await environmentOf(await plain.startContainer('main'))).join(' ')).not.toContain('GREETING');
    for (const pod of [annotated, plain]) await pod.remove();
  });

  test('env-from-annotation given a runtime that ends and comes back, then it serves the next container too', async () => {
    const example = await start('env-from-annotation');
    const linesBefore = example.stderr.lines.length;
    await runtime.kill();
    await runtime.start();
    await example.ready(linesBefore);
    const pod = await runtime.kubelet.runPod({
      annotations: { 'env.example.com/GREETING': 'hello' },
      containers: [main],
    });
    expect(await environmentOf(await pod.startContainer('main'))).toContain('GREETING=hello');
    await pod.remove();
  });
});
