import { isDeepStrictEqual } from 'node:util';
import {
  askDaemon,
  type Daemon,
  exclusiveList,
  findFreePort,
  lastCpu,
  onRuntimes,
  readPrintedStatus,
  type Runtime,
  startDaemon,
  startRuntime,
} from './rig';
import { waitUntil } from '../support/wait-until';

jest.setTimeout(300_000);

const pinned = { name: 'db', cpus: lastCpu };

onRuntimes(['sid'], 'the page', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let url: string;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    const port = await findFreePort();
    url = `http://127.0.0.1:${port}`;
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--http-address', String(port)] });
    await daemon.ready();
    await waitUntil('the page', () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });

  const read = async (path: string): Promise<string> => (await fetch(url + path)).text();
  /** Without the times of the last look at the kernel, which go on. */
  const withoutLooks = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (key, field: unknown) => (key === 'observation' && field ? { ...field, at: '' } : field)),
    );

  test('a new container is told as soon as it runs; its data are those of the commands', async () => {
    const stop = new AbortController();
    const stream = await fetch(`${url}/api/v1/stream`, { signal: stop.signal });
    let text = '';
    const reading = (async () => {
      for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) text += chunk;
    })().catch(() => undefined);
    await waitUntil('the content', () => text.includes('event: content'));
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    const began = performance.now();
    await waitUntil('the row', () => new RegExp(`event: change\\n.*c-${db.id}.*${exclusiveList}`).test(text));
    const tookMs = performance.now() - began;
    const askedAt = performance.now();
    await readPrintedStatus(daemon);
    // A period of cpusetd would be longer. The run of a command is the unit: it takes longer on a busy machine too.
    expect(tookMs).toBeLessThan(300 + 3 * (performance.now() - askedAt));
    stop.abort();
    await reading;

    let [shown, printed]: unknown[] = [];
    const isEqual = async (): Promise<boolean> => {
      shown = withoutLooks(JSON.parse(await read('/api/v1/status')));
      printed = withoutLooks(await readPrintedStatus(daemon));
      return isDeepStrictEqual(shown, printed);
    };
    await waitUntil('the page to equal the command', isEqual).catch(() => expect(shown).toEqual(printed));
    expect(JSON.parse(await read('/api/v1/topology'))).toEqual(
      JSON.parse(await askDaemon(daemon, 'topology', '-o', 'json')),
    );
    const page = (await read('/?cpus=1')).replace(/\s+/g, ' ');
    const [, row] = new RegExp(`<tr id="c-${db.id}"(.*?)</tr>`).exec(page) ?? [];
    expect(row).toMatch(new RegExp(`${pod.namespace}/</span> ?${pod.name} <b>db</b>`));
    expect(row).toMatch(new RegExp(`class="list"> ?${exclusiveList} ?</td>`));
    expect(page).toContain('1 CPU would not fit');
    await waitUntil('the history', async () => {
      const { records } = JSON.parse(await read('/api/v1/history')) as { records: { kind: string; podUid?: string }[] };
      return records.some(({ kind, podUid }) => kind === 'pinned' && podUid === pod.uid);
    });
    expect(await read('/metrics')).toContain('cpusetd_');
    await pod.remove();
  });

  test('nothing can be changed by it, and another name than its own is refused', async () => {
    const { get } = await import('node:http');
    expect((await fetch(`${url}/api/v1/status`, { method: 'POST' })).status).toBe(405);
    const status = await new Promise((resolve) =>
      get(url, { headers: { host: 'attacker.example' } }, (response) => resolve(response.resume().statusCode)),
    );
    expect(status).toBe(421);
  });
});
