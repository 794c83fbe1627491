import { environmentOf, Example } from './example-process';
import { onEachRuntime, printMaskThenSleep, type Runtime, startRuntime } from './rig';

jest.setTimeout(300_000);

/** A container whose program prints a line: before that, the first process is still runc. */
const main = { name: 'main', command: printMaskThenSleep };

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
