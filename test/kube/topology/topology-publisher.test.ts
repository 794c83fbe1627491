import pino from 'pino';
import { CpuSet } from '../../../src/core/cpuset';
import type { KubeRequest } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import type { JsonObject } from '../../../src/kube/json';
import { communityTopology } from '../../../src/kube/topology/community';
import { TopologyPublisher } from '../../../src/kube/topology/topology-publisher';

// Its times, on a clock of ours. What it writes is tested on the real API server: test/e2e/kube-api.test.ts.

const DEBOUNCE_MS = 30;
const REFRESH_MS = 5 * 60_000;

let end: AbortController;
beforeEach(() => {
  jest.useFakeTimers();
  end = new AbortController();
});
afterEach(() => {
  end.abort();
  jest.useRealTimers();
});

/** One object, stored and merged as the API server does; `forget` deletes it. */
function publish() {
  let stored: JsonObject | undefined;
  let version = 0;
  let available = 4;
  const calls: string[] = [];
  const send = ({ method, body }: KubeRequest): Promise<unknown> => {
    calls.push(method);
    if (stored === undefined && method !== 'POST') return Promise.reject(new KubeError('absent', 404));
    if (method !== 'GET') {
      const { metadata, ...fields } = body as JsonObject;
      stored = { ...stored, ...fields, metadata: { ...(metadata as object), resourceVersion: String(++version) } };
    }
    return Promise.resolve(stored);
  };
  const publisher = new TopologyPublisher({
    client: { send },
    kind: communityTopology,
    nodeName: 'n1',
    readNode: () => Promise.resolve({ name: 'n1', uid: 'u1', labels: {} }),
    report: (node) => ({
      node,
      kubeletIsStatic: false,
      resources: {
        zones: [
          {
            id: 0,
            cpu: { capacity: 8, allocatable: 7, available },
            memoryBytes: 1,
            reservedCpus: 1,
            unannounced: 0,
            withheld: 0,
            distances: new Map(),
          },
        ],
        topologyPolicy: 'none',
        topologyScope: 'container',
        pins: true,
        reserved: CpuSet.empty,
      },
    }),
    log: pino({ level: 'silent' }),
    signal: end.signal,
  });
  return {
    become: (count: number) => {
      available = count;
      publisher.touch();
    },
    forget: () => (stored = undefined),
    takeCalls: () => calls.splice(0),
  };
}

test('changes are written as one, 30 ms after the first of them, and not before', async () => {
  const { become, takeCalls } = publish();
  become(4);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
  expect(takeCalls()).toEqual(['GET', 'POST']);
  become(3);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS - 1);
  become(2);
  expect(takeCalls()).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(takeCalls()).toEqual(['PATCH']);
  await jest.advanceTimersByTimeAsync(REFRESH_MS / 2);
  expect(takeCalls()).toEqual([]);
});

test('it is read again every five minutes, and written when somebody deleted it', async () => {
  const { become, forget, takeCalls } = publish();
  become(4);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
  expect(takeCalls()).toEqual(['GET', 'POST']);
  await jest.advanceTimersByTimeAsync(REFRESH_MS - 1);
  expect(takeCalls()).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(takeCalls()).toEqual(['GET']);
  forget();
  await jest.advanceTimersByTimeAsync(REFRESH_MS);
  expect(takeCalls()).toEqual(['GET', 'POST']);
});
