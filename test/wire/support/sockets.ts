import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';

/** Something that a test opened, and that has to be gone when it is over. */
interface Closable {
  close(because: string): void;
  readonly closed: Promise<unknown>;
}

/**
 * Connected unix sockets for tests, and the promise that none outlives its test: after each one everything given to
 * `owned` is closed, and a socket or timer that is left fails the test.
 */
export function useSockets(): {
  readonly openPair: () => Promise<[Socket, Socket]>;
  readonly owned: <T extends Closable>(closable: T) => T;
} {
  let sockets: Socket[] = [];
  let closables: Closable[] = [];
  let timersBefore = 0;

  beforeEach(() => {
    timersBefore = countTimers();
  });

  afterEach(async () => {
    for (const closable of closables) closable.close('the test is over');
    await Promise.all(closables.map(({ closed }) => closed));
    const left = sockets.filter((socket) => !socket.destroyed);
    for (const socket of left) socket.destroy();
    [sockets, closables] = [[], []];
    expect(left).toHaveLength(0);
    expect(countTimers()).toBeLessThanOrEqual(timersBefore);
  });

  const openPair = async (): Promise<[Socket, Socket]> => {
    const dir = mkdtempSync(join(tmpdir(), 'wire-'));
    const server = createServer();
    try {
      server.listen(join(dir, 's'));
      await once(server, 'listening');
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const near = connect(join(dir, 's'));
      const [far] = await accepted;
      await (near.connecting ? once(near, 'connect') : undefined);
      sockets.push(near, far);
      return [near, far];
    } finally {
      server.close();
      rmSync(dir, { recursive: true });
    }
  };

  return {
    openPair,
    owned: (closable) => {
      closables.push(closable);
      return closable;
    },
  };
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

/** Waits until a condition holds, looking at it after every round of the event loop; rejects after `withinMs`. */
export async function waitUntil(isTrue: () => boolean, withinMs = 3000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${isTrue.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Collects what a socket receives, until `length` bytes are there. */
export async function readBytes(socket: Socket, length: number): Promise<Buffer> {
  let received = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk]);
  };
  socket.on('data', onData);
  await waitUntil(() => received.length >= length);
  socket.off('data', onData);
  return received;
}
