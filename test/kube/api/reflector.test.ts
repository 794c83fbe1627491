import type { KubeWatch } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import { Reflector } from '../../../src/kube/api/reflector';

/** A life of a watch. */
type Life = (watch: KubeWatch) => Promise<void>;

const opensAndFails: Life = ({ onOpen }) => {
  onOpen();
  return Promise.reject(new KubeError('an event that nobody understands', 0));
};
const sendsAndFails: Life = ({ onOpen, onEvent }) => {
  onOpen();
  onEvent('BOOKMARK', { metadata: { resourceVersion: '2' } });
  return Promise.reject(new KubeError('cut', 0));
};
const isRefused: Life = () => Promise.reject(new KubeError('refused', 0));
const lasts: Life = ({ onOpen }) => {
  onOpen();
  return new Promise(() => undefined);
};

/** Follows a collection whose watches live like that; the last of them again and again. */
function follow(...lives: Life[]) {
  const stop = new AbortController();
  const [opened, waits]: number[][] = [[], []];
  const begunMs = performance.now();
  const watches: KubeWatch[] = [];
  const reflector = new Reflector({
    client: {
      watch: (call) => {
        watches.push(call);
        return (lives.length > 1 ? lives.shift() : lives[0])!(call);
      },
    },
    signal: stop.signal,
    path: '/api/v1/pods',
    list: () => Promise.resolve('1'),
    onOpen: () => opened!.push(Math.round(performance.now() - begunMs)),
    onEvent: () => undefined,
    onUnread: () => undefined,
    onFailure: (_error, _during, waitMs) => (waits!.push(waitMs), waitMs),
    canResume: true,
  });
  void reflector.run();
  return { opened: opened!, waits: waits!, watches, stop };
}

beforeEach(() => {
  jest.useFakeTimers();
  jest.spyOn(Math, 'random').mockReturnValue(0.5); // no jitter
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

test('watches that fail as soon as they are open are repeated with growing pauses, and only the first counts as news', async () => {
  const { opened, waits, stop } = follow(opensAndFails);
  await jest.advanceTimersByTimeAsync(120_000);
  stop.abort();
  expect(waits.slice(0, 8)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect(opened).toEqual([0]);
});

test('after such a failure a watch counts as news when it has lasted five seconds', async () => {
  const { opened, stop } = follow(opensAndFails, lasts);
  await jest.advanceTimersByTimeAsync(5_499);
  expect(opened).toEqual([0]);
  await jest.advanceTimersByTimeAsync(1);
  expect(opened).toEqual([0, 5_500]);
  stop.abort();
});

test('after such a failure a watch counts as news with the first event', async () => {
  const { opened, watches, stop } = follow(opensAndFails, lasts);
  await jest.advanceTimersByTimeAsync(600);
  watches[1]!.onEvent('BOOKMARK', { metadata: { resourceVersion: '7' } });
  await jest.advanceTimersByTimeAsync(60_000);
  expect(opened).toEqual([0, 600]);
  stop.abort();
});

test('watches that send something before they fail are news, and the pauses do not grow', async () => {
  const { opened, waits, stop } = follow(sendsAndFails);
  await jest.advanceTimersByTimeAsync(1_100);
  stop.abort();
  expect({ opened, waits }).toEqual({ opened: [0, 500, 1_000], waits: [500, 500, 500] });
});

test('a watch that is refused casts no doubt on the next one', async () => {
  const { opened, stop } = follow(isRefused, lasts);
  await jest.advanceTimersByTimeAsync(600);
  stop.abort();
  expect(opened).toEqual([500]);
});
