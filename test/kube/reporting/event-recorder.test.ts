import pino from 'pino';
import type { KubeRequest } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import { EventRecorder, type NodeEventMessage, type PodEventMessage } from '../../../src/kube/reporting/event-recorder';
import { waitUntil } from '../../support/wait-until';

let end: AbortController;
beforeEach(() => (end = new AbortController()));
afterEach(() => end.abort());

function news(message = 'asked for 2', uid = 'u'): PodEventMessage {
  const pod = { uid, namespace: 'ns', name: `pod-${uid}` };
  return { pod, container: 'main', type: 'Warning', reason: 'CpusRefused', message };
}

const nodeNews = (message = 'cpu/usage triggered action evict'): NodeEventMessage => ({
  node: 'n1',
  type: 'Warning',
  reason: 'AvoidanceTriggered',
  message,
});

/** A recorder whose API server answers as `answer` says. */
function record(answer: (call: KubeRequest) => unknown = () => ({})) {
  const calls: KubeRequest[] = [];
  const dropped: number[] = [];
  const rights: string[] = [];
  const warnings: string[] = [];
  let clock = 0;
  const recorder = new EventRecorder({
    client: { send: async (call) => (calls.push(call), answer(call)) },
    nodeName: 'n1',
    log: pino(
      { level: 'info' },
      {
        write: (line: string) => {
          const { level, events, verb, resource, because, msg } = JSON.parse(line) as Record<string, unknown>;
          if (typeof events === 'number') dropped.push(events);
          else if (typeof verb !== 'string') warnings.push(`${String(msg)}: ${String(because)}`);
          else rights.push(`${String(level)} ${verb} ${String(resource)}`);
        },
      },
    ),
    signal: end.signal,
    now: () => new Date(Date.UTC(2026, 0, 1, 0, 0, clock++)).toISOString(),
    gatherMs: 20,
  });
  return { recorder, calls, dropped, rights, warnings };
}

test('an event names the pod, the container, the node, and when', async () => {
  const { recorder, calls } = record();
  recorder.record(news());
  await waitUntil('written', () => calls.length === 1);
  expect(calls[0]).toMatchObject({
    method: 'POST',
    path: '/api/v1/namespaces/ns/events',
    body: {
      metadata: { namespace: 'ns' },
      involvedObject: { kind: 'Pod', uid: 'u', namespace: 'ns', name: 'pod-u', fieldPath: 'spec.containers{main}' },
      type: 'Warning',
      reason: 'CpusRefused',
      message: 'asked for 2',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00.000Z',
      lastTimestamp: '2026-01-01T00:00:00.000Z',
      source: { component: 'cpusetd', host: 'n1' },
    },
  });
});

test('an event on a Node is in the namespace default, and has the name of the Node as uid, as that of the kubelet', async () => {
  const { recorder, calls } = record(({ method }) => (method === 'POST' ? { metadata: { name: 'made' } } : {}));
  recorder.record(nodeNews());
  await waitUntil('written', () => calls.length === 1);
  expect(calls[0]).toMatchObject({
    method: 'POST',
    path: '/api/v1/namespaces/default/events',
    body: {
      metadata: { namespace: 'default', name: expect.stringMatching(/^n1\.[0-9a-f]{16}$/) as unknown },
      type: 'Warning',
      reason: 'AvoidanceTriggered',
      message: 'cpu/usage triggered action evict',
      source: { component: 'cpusetd', host: 'n1' },
      reportingInstance: 'n1',
    },
  });
  expect((calls[0]?.body as { involvedObject: object }).involvedObject).toEqual({
    apiVersion: 'v1',
    kind: 'Node',
    uid: 'n1',
    name: 'n1',
  });
  recorder.record(nodeNews());
  await waitUntil('counted', () => calls.length === 2);
  expect(calls[1]).toMatchObject({ path: '/api/v1/namespaces/default/events/made', body: { count: 2 } });
});

test('events of a Node are limited as those of a pod, and a pod has its own', async () => {
  const { recorder, calls, dropped } = record();
  for (let i = 0; i < 50; i++) recorder.record(nodeNews(`news ${i}`));
  recorder.record(news('hello', 'other'));
  await waitUntil('the pod is heard', () => calls.some(({ body }) => JSON.stringify(body).includes('hello')));
  expect(calls).toHaveLength(11);
  expect(dropped).toEqual([40]);
});

test('an admission policy that refuses events (422): each reason is logged once', async () => {
  let why = 'rule one';
  const { recorder, calls, warnings } = record(() => {
    throw new KubeError(why, 422);
  });
  for (const message of ['a', 'b']) recorder.record(news(message));
  await waitUntil('tried', () => calls.length === 2);
  why = 'rule two';
  recorder.record(news('c'));
  await waitUntil('tried again', () => calls.length === 3);
  expect(warnings).toEqual(['events can’t be written: rule one', 'events can’t be written: rule two']);
});

test('repeated events are counted up: before the write in memory, afterwards by a patch', async () => {
  const { recorder, calls } = record(({ method }) => (method === 'POST' ? { metadata: { name: 'made' } } : {}));
  for (let i = 0; i < 3; i++) recorder.record(news());
  await waitUntil('written', () => calls.length === 1);
  expect(calls[0]?.body).toMatchObject({ count: 3, lastTimestamp: '2026-01-01T00:00:02.000Z' });
  for (let i = 0; i < 2; i++) recorder.record(news());
  await waitUntil('counted', () => calls.length === 2);
  expect(calls[1]).toMatchObject({
    method: 'PATCH',
    path: '/api/v1/namespaces/ns/events/made',
    body: { count: 5, lastTimestamp: '2026-01-01T00:00:04.000Z' },
  });
});

test('an event that has expired in the API server is written anew', async () => {
  const { recorder, calls } = record(({ method }) => {
    if (method === 'PATCH') throw new KubeError('gone', 404);
    return { metadata: { name: 'made' } };
  });
  recorder.record(news());
  await waitUntil('written', () => calls.length === 1);
  recorder.record(news());
  await waitUntil('written anew', () => calls.length === 3);
  expect(calls.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
});

test('events of one pod are limited, and events of others are written', async () => {
  const { recorder, calls, dropped } = record();
  for (let i = 0; i < 50; i++) recorder.record(news(`news ${i}`));
  recorder.record(news('hello', 'other'));
  await waitUntil('the other is heard', () => calls.some(({ body }) => JSON.stringify(body).includes('hello')));
  expect(calls).toHaveLength(11);
  expect(dropped).toEqual([40]);
});

test.each([
  ['given an API server that is away, the write is retried a few times', new KubeError('away', 0), 3],
  ['given a refusal, the write is not retried', new KubeError('forbidden', 403), 1],
  ['given 429, the write is retried', new KubeError('slow', 429), 3],
])('%s', async (_name, error, times) => {
  const { recorder, calls } = record(() => {
    throw error;
  });
  recorder.record(news());
  await waitUntil('tried', () => calls.length === times);
  recorder.record(news('later', 'other'));
  await waitUntil('the next one', () => calls.some(({ body }) => JSON.stringify(body).includes('later')));
  expect(calls.filter(({ body }) => JSON.stringify(body).includes('asked for'))).toHaveLength(times);
});

test('a long message is cut, and names stay complete', async () => {
  const { recorder, calls } = record();
  recorder.record({ ...news('x'.repeat(5_000)), pod: { uid: 'u', namespace: 'ns', name: 'n'.repeat(253) } });
  await waitUntil('written', () => calls.length === 1);
  const { message, metadata } = calls[0]?.body as { message: string; metadata: { name: string } };
  expect(message).toHaveLength(1_024);
  expect(metadata.name.length).toBeLessThanOrEqual(253);
});

test('a log that throws keeps no later event from being written', async () => {
  const calls: KubeRequest[] = [];
  let isBroken = true;
  let blows = 0;
  const recorder = new EventRecorder({
    client: { send: async (call) => (calls.push(call), {}) },
    nodeName: 'n1',
    log: {
      warn: () => {
        if (!isBroken) return;
        blows++;
        throw new Error('a fault of our own');
      },
      error: () => undefined,
      debug: () => undefined,
    } as unknown as ConstructorParameters<typeof EventRecorder>[0]['log'],
    signal: end.signal,
    now: () => '2026-01-01T00:00:00.000Z',
    gatherMs: 5,
  });
  for (let i = 0; i < 12; i++) recorder.record(news(`${i}`)); // more than a pod may have: the rest is counted in the log
  await waitUntil('the log is broken', () => blows > 0);
  isBroken = false;
  await waitUntil('written all the same', () => calls.length === 10);
});

test('a missing right is logged once at info with its verb, and the events are not retried', async () => {
  let mayCreate = true;
  const { recorder, calls, rights } = record(({ method }) => {
    if (method === 'PATCH' || !mayCreate) throw new KubeError('forbidden', 403);
    return { metadata: { name: 'made' } };
  });
  for (let i = 1; i <= 3; i++) {
    recorder.record(news());
    await waitUntil('tried', () => calls.length === i);
  }
  expect(rights).toEqual(['30 patch events']);
  mayCreate = false;
  for (let i = 4; i <= 6; i++) {
    recorder.record(news(`another ${i}`));
    await waitUntil('tried', () => calls.length === i);
  }
  expect(rights).toEqual(['30 patch events', '30 create events']);
});
