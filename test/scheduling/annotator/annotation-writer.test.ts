import pino from 'pino';
import type { KubeRequest } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import { AnnotationWriter, type AnnotationValue } from '../../../src/scheduling/annotator/annotation-writer';

let stop: AbortController;
beforeEach(() => {
  jest.useFakeTimers({ now: 1_700_000_000_000 });
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  jest.useRealTimers();
});

function createWriter({ parallel = 4, isDryRun = false } = {}) {
  const sent: { readonly node: string; readonly annotations: Record<string, string>; readonly atMs: number }[] = [];
  const counts: Record<string, number> = {};
  const warnings: Record<string, unknown>[] = [];
  const begunMs = Date.now();
  const stage = {
    /** Answers a patch. */
    answer: (_node: string): Promise<void> => Promise.resolve(),
    isHeld: true,
    clockMs: 0,
    gone: [] as string[],
    extras: new Map<string, AnnotationValue>(),
    running: 0,
    most: 0,
  };
  const count = (name: string): void => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const writer = new AnnotationWriter({
    client: {
      send: async (call: KubeRequest) => {
        call.beforeSend?.();
        const node = call.path.replace('/api/v1/nodes/', '');
        const { metadata } = call.body as { metadata: { annotations: Record<string, string> } };
        sent.push({ node, annotations: metadata.annotations, atMs: Date.now() - begunMs });
        stage.most = Math.max(stage.most, ++stage.running);
        try {
          await stage.answer(node);
        } finally {
          stage.running--;
        }
        return {};
      },
    },
    leadership: {
      signal: stop.signal,
      assertHeld: () => {
        if (!stage.isHeld) throw new KubeError('the lease is not ours any more', 0);
      },
    },
    parallel,
    isDryRun,
    listExtras: () => stage.extras,
    onGone: (node) => stage.gone.push(node),
    metrics: { countPatch: count, countDropped: count, setPending: (nodes) => (counts['pending'] = nodes) },
    nowMs: () => Date.now() + stage.clockMs,
    log: pino(
      { level: 'warn' },
      { write: (line: string) => void warnings.push(JSON.parse(line) as Record<string, unknown>) },
    ),
  });
  const put = (node: string, values: Record<string, string>, delayMs = 0, validForMs = 600_000): void =>
    writer.put(
      node,
      new Map(Object.entries(values).map(([key, text]) => [key, { text, stampMs: Date.now(), validForMs }])),
      delayMs,
    );
  return { writer, put, sent, counts, stage, warnings };
}

const wait = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

test('given values of one node at several times: one patch when the first is due, with the newest of each', async () => {
  const { writer, put, sent } = createWriter();
  writer.start();
  put('n1', { a: '1', b: '1' }, 1_000);
  put('n1', { b: '2' }, 60_000);
  put('n2', { a: '1' }, 5_000);
  await wait(2_000);
  expect(sent).toMatchObject([{ node: 'n1', annotations: { a: '1', b: '2' } }]);
  await wait(10_000);
  expect(sent).toHaveLength(2);
});

test('nothing is sent before the start', async () => {
  const { writer, put, sent } = createWriter();
  put('n1', { a: '1' });
  await wait(60_000);
  expect(sent).toEqual([]);
  writer.start();
  await wait(10);
  expect(sent).toHaveLength(1);
});

test('the patch is a JSON merge patch of the annotations that asks for metadata alone', async () => {
  const calls: KubeRequest[] = [];
  const writer = new AnnotationWriter({
    client: { send: (call) => Promise.resolve(calls.push(call)) },
    leadership: { signal: stop.signal, assertHeld: () => undefined },
    parallel: 1,
    isDryRun: false,
    listExtras: () => new Map(),
    onGone: () => undefined,
    metrics: { countPatch: () => undefined, countDropped: () => undefined, setPending: () => undefined },
    nowMs: () => 0,
    log: pino({ level: 'silent' }),
  });
  writer.start();
  writer.put('n1', new Map([['example.com/a~b', { text: '1', stampMs: 0, validForMs: 1 }]]), 0);
  await wait(10);
  expect(calls).toMatchObject([
    {
      method: 'PATCH',
      path: '/api/v1/nodes/n1',
      contentType: 'application/merge-patch+json',
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      body: { metadata: { annotations: { 'example.com/a~b': '1' } } },
    },
  ]);
});

test('given 100 nodes and 4 at once: never more than 4 patches are under way, and each node gets one', async () => {
  const { writer, put, sent, stage, counts } = createWriter();
  stage.answer = () => new Promise((resolve) => setTimeout(resolve, 20));
  writer.start();
  for (let n = 0; n < 100; n++) put(`n${n}`, { a: '1' });
  await wait(2_000);
  expect(stage.most).toBe(4);
  expect(new Set(sent.map(({ node }) => node)).size).toBe(100);
  expect(counts).toMatchObject({ ok: 100, pending: 0 });
});

test('values that come while a patch is under way go with the next one', async () => {
  const { writer, put, sent, stage } = createWriter();
  stage.answer = () => new Promise((resolve) => setTimeout(resolve, 500));
  writer.start();
  put('n1', { a: '1' });
  await wait(200);
  put('n1', { a: '2' }, 1_000);
  await wait(3_000);
  expect(sent.map(({ annotations }) => annotations)).toEqual([{ a: '1' }, { a: '2' }]);
  expect(sent[1]!.atMs).toBeGreaterThanOrEqual(1_000); // not before it is due
});

test('extras go with a patch, and make none', async () => {
  const { writer, put, sent, stage } = createWriter();
  writer.start();
  stage.extras = new Map([['x', { text: '9', stampMs: Date.now(), validForMs: 600_000 }]]);
  await wait(1_000);
  expect(sent).toEqual([]);
  put('n1', { a: '1' });
  await wait(200);
  expect(sent).toMatchObject([{ annotations: { a: '1', x: '9' } }]);
});

test('given a node that is refused: it is tried again after 10 to 360 s, and others are not delayed', async () => {
  const { writer, put, sent, stage, warnings } = createWriter();
  stage.answer = (node) => (node === 'bad' ? Promise.reject(new KubeError('refused', 422)) : Promise.resolve());
  writer.start();
  put('bad', { a: '1' }, 0, 86_400_000);
  put('good', { a: '1' });
  await wait(3_600_000);
  expect(sent.filter(({ node }) => node === 'good')).toHaveLength(1);
  const times = sent.filter(({ node }) => node === 'bad').map(({ atMs }) => atMs / 1_000);
  expect(times[1]! - times[0]!).toBeGreaterThan(7);
  expect(times[1]! - times[0]!).toBeLessThan(13);
  const pauses = times.slice(1).map((time, nth) => time - times[nth]!);
  for (const pause of pauses) expect(pause).toBeLessThanOrEqual(1.25 * 360 + 1);
  expect(times.length).toBeGreaterThan(10);
  expect(warnings[0]).toMatchObject({ node: 'bad', because: 'refused', status: 422 });
});

test('given a node that was refused, then written: its back-off begins anew', async () => {
  const { writer, put, sent, stage } = createWriter();
  stage.answer = () => Promise.reject(new KubeError('refused', 422));
  writer.start();
  put('n1', { a: '1' }, 0, 86_400_000);
  await wait(60_000); // some tries
  stage.answer = () => Promise.resolve();
  await wait(600_000);
  stage.answer = () => Promise.reject(new KubeError('refused', 422));
  const before = sent.length;
  put('n1', { a: '2' }, 0, 86_400_000);
  await wait(13_500);
  expect(sent).toHaveLength(before + 2);
});

test('given patches that fail at once for an API server that is away: they count as one failure', async () => {
  const { writer, put, sent, stage } = createWriter({ parallel: 8 });
  stage.answer = () => new Promise((_resolve, reject) => setTimeout(() => reject(new KubeError('away', 0)), 10));
  writer.start();
  for (let n = 0; n < 100; n++) put(`n${n}`, { a: '1' });
  await wait(1_400);
  expect(sent).toHaveLength(16);
});

test('given 403: the message names the missing right', async () => {
  const { writer, put, stage, warnings } = createWriter();
  stage.answer = () => Promise.reject(new KubeError('forbidden', 403));
  writer.start();
  for (let n = 0; n < 50; n++) put(`n${n}`, { a: '1' });
  await wait(1_000);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatchObject({
    because: expect.stringContaining('give the annotator the verb patch for nodes'),
  });
});

test('given 404: the node is forgotten', async () => {
  const { writer, put, sent, stage, counts } = createWriter();
  stage.answer = () => Promise.reject(new KubeError('not found', 404));
  writer.start();
  put('n1', { a: '1' });
  await wait(3_600_000);
  expect(sent).toHaveLength(1);
  expect(stage.gone).toEqual(['n1']);
  expect(counts).toMatchObject({ gone: 1, pending: 0 });
});

test('given an API server that is away: all wait, with few tries; when it is back all are written', async () => {
  const { writer, put, sent, stage, counts, warnings } = createWriter();
  stage.answer = () => Promise.reject(new KubeError("can't be reached", 0));
  writer.start();
  for (let n = 0; n < 100; n++) put(`n${n}`, { a: '1' });
  await wait(120_000);
  expect(sent.length).toBeLessThanOrEqual(40); // rounds of 4 after 0.75, 1.5, 3, 6, 12, 22.5, 22.5 … s at the earliest
  expect(warnings).toHaveLength(1);
  stage.answer = () => Promise.resolve();
  await wait(60_000);
  expect(counts).toMatchObject({ ok: 100, pending: 0 });
});

test('given 429 with Retry-After: nothing is sent before that time', async () => {
  const { writer, put, sent, stage } = createWriter({ parallel: 1 });
  stage.answer = () => Promise.reject(new KubeError('slow down', 429, { retryAfterMs: 50_000 }));
  writer.start();
  put('n1', { a: '1' });
  put('n2', { a: '1' });
  await wait(49_000);
  expect(sent).toHaveLength(1);
  stage.answer = () => Promise.resolve();
  await wait(5_000);
  expect(sent).toHaveLength(3);
});

test('given values that grew too old while the API server was away: they are dropped and counted, and never written', async () => {
  const { writer, put, sent, stage, counts } = createWriter();
  stage.answer = () => Promise.reject(new KubeError("can't be reached", 0));
  writer.start();
  put('n1', { old: '1' }, 0, 60_000);
  put('n1', { young: '1' }, 0, 600_000);
  await wait(120_000);
  sent.length = 0;
  stage.answer = () => Promise.resolve();
  await wait(60_000);
  expect(sent.map(({ annotations }) => annotations)).toEqual([{ young: '1' }]);
  expect(counts).toMatchObject({ old: 1 });
});

test('given a clock that was set back: values of the future are dropped and counted', async () => {
  const { writer, put, sent, stage, counts } = createWriter();
  put('n1', { a: '1' });
  stage.clockMs = -3_600_000;
  writer.start();
  await wait(1_000);
  expect(sent).toEqual([]);
  expect(counts).toMatchObject({ future: 1, pending: 0 });
});

test('given a lease that is lost while patches are under way: no further patch begins', async () => {
  const { writer, put, sent, stage } = createWriter();
  stage.answer = () => new Promise((resolve) => setTimeout(resolve, 100));
  writer.start();
  for (let n = 0; n < 100; n++) put(`n${n}`, { a: '1' });
  await wait(250);
  const before = sent.length;
  stage.isHeld = false; // the clock says so before the signal does
  await wait(1_000);
  stop.abort();
  await wait(600_000);
  expect(before).toBeGreaterThan(0);
  expect(sent).toHaveLength(before);
});

test('in a dry run nothing is sent, and all is counted', async () => {
  const { writer, put, sent, counts } = createWriter({ isDryRun: true });
  writer.start();
  put('n1', { a: '1' });
  await wait(1_000);
  expect(sent).toEqual([]);
  expect(counts).toMatchObject({ 'dry-run': 1, pending: 0 });
});
