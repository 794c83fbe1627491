import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { PodInformer } from '../../../src/kube/pods/pod-informer';
import { FakeApiServer } from '../../support/kube/api-server';
import { waitUntil } from '../../support/wait-until';

const PODS = '/api/v1/pods';
const HOUR_MS = 3_600_000;

const pod = (name: string) => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations: {} },
  spec: { nodeName: 'n1', containers: [] },
  status: { phase: 'Running', qosClass: 'BestEffort' },
});

test('given a server that is away for an hour, pauses stay short, memory does not grow, and no pod is dropped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hour-'));
  const server = new FakeApiServer();
  const stop = new AbortController();
  try {
    await server.start();
    const path = join(folder, 'kubeconfig');
    writeFileSync(path, server.kubeconfig);
    server.put(PODS, pod('a'));
    server.put(PODS, pod('b'));
    const reported: string[] = [];
    const states: string[] = [];
    const informer = new PodInformer({
      client: new KubeClient({ kind: 'file', path }, stop.signal),
      nodeName: 'n1',
      sink: {
        onList: (pods) => reported.push(`list ${pods.map(({ name }) => name).join()}`),
        onPod: ({ name }) => reported.push(`pod ${name}`),
        onGone: (uid) => reported.push(`gone ${uid}`),
      },
      onState: (state, because) => states.push(`${state} ${because}`),
      log: pino({ level: 'silent' }),
      signal: stop.signal,
    });
    informer.start();
    await waitUntil('ready', () => states.at(-1) === 'ready ');

    // Timers and the date are fake from now on; sockets are real.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'hrtime'] });
    let received = states.length;
    const nextState = async (): Promise<void> => {
      while (states.length === received) await new Promise((resolve) => setImmediate(resolve));
      received = states.length;
    };
    await server.stop();
    await nextState();
    const waitsMs: number[] = [];
    const timers = new Set<number>();
    let passedMs = 0;
    while (passedMs < HOUR_MS) {
      timers.add(jest.getTimerCount());
      const begunMs = Date.now();
      jest.advanceTimersToNextTimer();
      await nextState();
      const waitedMs = Date.now() - begunMs;
      waitsMs.push(waitedMs);
      passedMs += waitedMs;
    }
    expect(Math.max(...waitsMs)).toBeLessThanOrEqual(37_500);
    expect(waitsMs.length).toBeGreaterThan(HOUR_MS / 37_500 - 1);
    expect(waitsMs.length).toBeLessThan(200);
    expect([...timers]).toEqual([1]); // the timer of the next request
    expect(new Set(states.slice(-50)).size).toBe(1);
    expect(states.at(-1)).toMatch(/^connecting .*ECONNREFUSED/);
    expect(reported).toEqual(['list a,b']);
    expect(informer.pods?.map(({ spec }) => spec.name)).toEqual(['a', 'b']);

    server.remove(PODS, pod('a'));
    server.put(PODS, pod('c'));
    await server.start();
    jest.advanceTimersToNextTimer();
    jest.useRealTimers();
    await waitUntil('what changed is reported', () => reported.length === 3);
    expect(reported.slice(1)).toEqual(['gone uid-a', 'pod c']);
    await waitUntil('ready again', () => states.at(-1) === 'ready ');
  } finally {
    jest.useRealTimers();
    stop.abort();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
});
