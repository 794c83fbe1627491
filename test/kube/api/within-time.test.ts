import { untilAborted, withinTime } from '../../../src/kube/api/within-time';

const untilEnd = (signal: AbortSignal) => new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('aborted'))); // prettier-ignore

describe('withinTime', () => {
  test('given work that ends in time, then its result is returned', async () => {
    const { signal } = new AbortController();
    await expect(withinTime({ signal, timeoutMs: 60_000 }, () => Promise.resolve('done'))).resolves.toBe('done');
  });

  test('given work that takes too long, then its signal aborts', async () => {
    const { signal } = new AbortController();
    await expect(withinTime({ signal, timeoutMs: 5 }, untilEnd)).resolves.toBe('aborted');
  });

  test('given an outer signal that aborts, then the signal of the work aborts', async () => {
    const stop = new AbortController();
    const work = withinTime({ signal: stop.signal, timeoutMs: 60_000 }, untilEnd);
    stop.abort();
    await expect(work).resolves.toBe('aborted');
    const isAborted = ({ aborted }: AbortSignal) => Promise.resolve(aborted);
    await expect(withinTime({ signal: stop.signal, timeoutMs: 60_000 }, isAborted)).resolves.toBe(true);
  });

  test('given an extension, then the time starts again', async () => {
    const { signal } = new AbortController();
    jest.useFakeTimers();
    try {
      const work = withinTime({ signal, timeoutMs: 20 }, (limit, extend) => {
        extend(60_000);
        const isAbortedAfter = (ms: number) => {
          jest.advanceTimersByTime(ms);
          return limit.aborted;
        };
        return Promise.resolve([isAbortedAfter(59_999), isAbortedAfter(1)]);
      });
      await expect(work).resolves.toEqual([false, true]);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('untilAborted', () => {
  test('given a promise that settles first, then it has its outcome', async () => {
    const { signal } = new AbortController();
    await expect(untilAborted(Promise.resolve(1), signal, () => 'late')).resolves.toBe(1);
    await expect(untilAborted(Promise.reject(new Error('no')), signal, () => 'late')).rejects.toThrow('no');
  });

  test('given a signal that aborts first, then it rejects with the reason', async () => {
    const stop = new AbortController();
    const waiting = untilAborted(new Promise(() => undefined), stop.signal, () => 'late');
    stop.abort();
    await expect(waiting).rejects.toThrow('late');
  });
});
