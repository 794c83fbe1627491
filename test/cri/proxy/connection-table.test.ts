import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { ProxyConnection } from '../../../src/cri/proxy/connection/proxy-connection';
import { ConnectionTable, type ConnectionLimits } from '../../../src/cri/proxy/connection-table';

const LIMITS: ConnectionLimits = { maxIdle: 1, minIdleMs: 0, firstCallMs: 60_000, max: 3 };

const socketOf = () =>
  Object.assign(new EventEmitter(), { destroy: jest.fn() }) as unknown as Socket & { readonly destroy: jest.Mock };

/** A connection without calls in flight, unless the test sets `isIdle`. */
function connectionOf(more: { readonly isIdle?: boolean; readonly lastTrafficAt?: number } = {}) {
  let close: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => (close = resolve));
  const connection = { isIdle: true, lastTrafficAt: 0, kubelet: socketOf(), closed, leave: jest.fn(), stop: jest.fn() };
  return Object.assign(connection, more, { close }) as unknown as ProxyConnection & {
    readonly leave: jest.Mock;
    readonly stop: jest.Mock;
    readonly close: () => void;
  };
}

let evictions: string[];
let added: ReturnType<typeof connectionOf>[];
function tableWith(...connections: ReturnType<typeof connectionOf>[]): ConnectionTable {
  const table = new ConnectionTable(LIMITS, (limit) => evictions.push(limit));
  for (const connection of connections) table.addConnection(socketOf(), connection);
  added.push(...connections);
  return table;
}

beforeEach(() => ([evictions, added] = [[], []]));
afterEach(async () => {
  for (const connection of added) connection.close(); // ends the timers of the first calls
  await Promise.resolve();
});

test('a silent client that sends its first bytes and is served stays one connection', async () => {
  const table = tableWith();
  const [socket, connection] = [socketOf(), connectionOf()];
  table.addSilent(socket);
  table.noteOpened(socket);
  table.addConnection(socket, connection);
  expect(table.size).toBe(1);
  connection.close();
  await connection.closed;
  await Promise.resolve();
  expect(table.size).toBe(0);
});

test('beyond the limit of idle connections the longest idle one is asked to leave', () => {
  const [first, second] = [connectionOf(), connectionOf()];
  const table = tableWith(first, second);
  table.noteUse(first);
  table.noteUse(second);
  expect([first.leave.mock.calls.length, second.leave.mock.calls.length]).toEqual([1, 0]);
  expect(evictions).toEqual(['maxIdle']);
});

test('at the maximum a client that has sent nothing is closed first', () => {
  const table = tableWith(connectionOf(), connectionOf());
  const silent = socketOf();
  table.addSilent(silent);
  table.addSilent(socketOf());
  expect(silent.destroy.mock.calls).toHaveLength(1);
  expect(evictions).toEqual(['max']);
});

test('at the maximum, with a call on every connection, the one without traffic for longest is closed', () => {
  const busy = [3, 1, 2].map((lastTrafficAt) => connectionOf({ isIdle: false, lastTrafficAt }));
  const table = tableWith(...busy);
  expect(table.dropIdle()).toBe(false);
  table.addSilent(socketOf());
  expect(busy.map((connection) => connection.stop.mock.calls.length)).toEqual([0, 1, 0]);
});
