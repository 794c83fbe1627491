import { CallsInFlight } from '../../../src/cri/interceptors/calls-in-flight';
import { NodeDriver } from '../../core/transition/node-driver';

const limits = (timeoutMs = 60_000) => ({ signal: new AbortController().signal, timeoutMs });

test('a call is in flight until it has ended', async () => {
  const calls = new CallsInFlight(new NodeDriver().model);
  const end = calls.begin('a', undefined);
  expect([calls.has('a'), calls.has('b')]).toEqual([true, false]);
  const waiting = calls.endOf('a', limits());
  end();
  end();
  await expect(waiting).resolves.toBe(true);
  expect(calls.has('a')).toBe(false);
});

test('without a call about the container the wait ends at once', async () => {
  const calls = new CallsInFlight(new NodeDriver().model);
  calls.begin('a', undefined);
  await expect(calls.endOf('b', limits())).resolves.toBe(true);
});

test('the wait ends with false at the timeout, and when the signal aborts', async () => {
  const calls = new CallsInFlight(new NodeDriver().model);
  calls.begin('a', undefined);
  await expect(calls.endOf('a', limits(1))).resolves.toBe(false);
  const stop = new AbortController();
  const waiting = calls.endOf('a', { signal: stop.signal, timeoutMs: 60_000 });
  stop.abort();
  await expect(waiting).resolves.toBe(false);
});

test('only calls of other containers with an outdated promise are waited for', async () => {
  const node = new NodeDriver().run('make q/s 0');
  const calls = new CallsInFlight(node.model);
  const { id, promise } = node.container('q/s')!;
  calls.begin(id, promise);
  calls.begin('unknown', undefined);
  await expect(calls.endOfOutdated('p/a#1', limits(1))).resolves.toBe(true);
  node.run('make p/a 2');
  await expect(calls.endOfOutdated('p/a#1', limits(1))).resolves.toBe(false);
  await expect(calls.endOfOutdated(id, limits(1))).resolves.toBe(true);
});
