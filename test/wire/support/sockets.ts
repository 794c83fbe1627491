import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';

import { Mux, SocketChannel, type MuxOptions } from '../../../src/wire';
import { waitUntil } from '../../support/wait-until';

interface Owner {
  close(because: string): void;
  readonly closed: Promise<unknown>;
}

/**
 * Connected unix sockets for tests, and what runs over them. After each test all of it is closed; the test
 * fails when a socket or a timer was left open.
 */
export function useSockets(): {
  readonly openPair: () => Promise<[Socket, Socket]>;
  readonly openMux: (socket: Socket, options?: MuxOptions) => Mux;
  readonly openChannel: (socket: Socket) => SocketChannel;
} {
  let sockets: Socket[] = [];
  let owners: { readonly owner: Owner; readonly socket: Socket }[] = [];
  let timers: jest.SpyInstance<NodeJS.Timeout>;

  beforeEach(() => {
    timers = jest.spyOn(globalThis, 'setTimeout');
  });

  afterEach(async () => {
    for (const { owner } of owners) owner.close('the test is over');
    await Promise.all(owners.map(({ owner }) => owner.closed));
    const leftOpen = owners.filter(({ socket }) => !socket.destroyed).length;
    for (const socket of sockets) socket.destroy();
    [sockets, owners] = [[], []];
    expect(leftOpen).toBe(0);
    expect(timers.mock.results.filter(({ value }) => isRunning(value as NodeJS.Timeout))).toHaveLength(0);
    timers.mockRestore();
  });

  const own = <T extends Owner>(socket: Socket, owner: T): T => {
    owners.push({ owner, socket });
    return owner;
  };

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
    openMux: (socket, options) => own(socket, new Mux(socket, options)),
    openChannel: (socket) => own(socket, new SocketChannel(socket)),
  };
}

/** True for a timer that has neither fired nor been cleared. */
function isRunning(timer: NodeJS.Timeout): boolean {
  return !(timer as unknown as { readonly _destroyed: boolean })._destroyed;
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
