import { Writable } from 'node:stream';
import { streamLatest } from '../../../src/admin/server/stream-latest';

/** A peer that reads one message at a time, on request. */
class SlowPeer extends Writable {
  readonly read: string[] = [];
  private next: (() => void) | undefined;

  constructor() {
    super({ objectMode: true, highWaterMark: 2 });
  }

  override _write(message: string, _encoding: string, done: () => void): void {
    this.next = () => {
      this.read.push(message);
      done();
    };
  }

  readAll(): void {
    for (let next = this.next; next !== undefined; next = this.next) {
      this.next = undefined;
      next();
    }
  }
}

function stream({ closing = new AbortController() } = {}) {
  const peer = new SlowPeer();
  const listeners = new Set<(change: string) => void>();
  const failures: unknown[] = [];
  let snapshot = (): string => 'snapshot';
  streamLatest(peer, {
    snapshot: () => snapshot(),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    closing: closing.signal,
    fail: (error) => failures.push(error),
  });
  const change = (...names: readonly string[]): void =>
    names.forEach((name) => listeners.forEach((listener) => listener(name)));
  return { peer, change, listeners, failures, setSnapshot: (make: () => string) => (snapshot = make) };
}

const turn = () => new Promise(setImmediate);

/** Reads until the peer gets nothing more. */
async function drain(peer: SlowPeer): Promise<readonly string[]> {
  for (let before = -1; before !== peer.read.length;) {
    before = peer.read.length;
    peer.readAll();
    await turn();
  }
  return peer.read;
}

test('a peer that reads gets the snapshot, then each change', async () => {
  const { peer, change } = stream();
  await drain(peer);
  change('a');
  await drain(peer);
  change('b');
  expect(await drain(peer)).toEqual(['snapshot', 'a', 'b']);
});

test('a slow peer misses changes, and gets the present snapshot later', async () => {
  const { peer, change, setSnapshot } = stream();
  change('a', 'b', 'c');
  setSnapshot(() => 'after c');
  expect(peer.writableLength).toBe(2);
  expect(await drain(peer)).toEqual(['snapshot', 'a', 'after c']);
  change('d');
  expect((await drain(peer)).at(-1)).toBe('d');
});

test('a slow peer that missed nothing gets no second snapshot', async () => {
  const { peer, change } = stream();
  change('a');
  expect(await drain(peer)).toEqual(['snapshot', 'a']);
});

test('a snapshot that throws fails the stream', async () => {
  const { peer, change, failures, setSnapshot } = stream();
  change('a', 'b');
  setSnapshot(() => {
    throw new TypeError('a fault');
  });
  await drain(peer);
  expect(failures).toEqual([new TypeError('a fault')]);
});

test('a peer that disconnects is unsubscribed', async () => {
  const { peer, listeners } = stream();
  peer.destroy();
  await turn();
  expect(listeners.size).toBe(0);
});

test.each([
  ['before', true],
  ['after', false],
])('a server that closes %s the start of a stream ends it after the snapshot', async (_name, isFirst) => {
  const closing = new AbortController();
  if (isFirst) closing.abort();
  const { peer, listeners } = stream({ closing });
  closing.abort();
  expect([await drain(peer), peer.writableFinished, listeners.size]).toEqual([['snapshot'], true, 0]);
});
