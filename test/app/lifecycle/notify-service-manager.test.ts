import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import pino from 'pino';
import { HealthState } from '../../../src/admin/health-state';
import { notifyServiceManager } from '../../../src/app/lifecycle/notify-service-manager';
import { startDaemon } from '../../e2e/rig';
import { builtBundle } from '../../support/built-bundle';
import { makeDaemonHost, rigArguments, type DaemonOptions } from '../../support/daemon-paths';
import { NriRuntime } from '../../support/nri-runtime';

// Node has no unix datagram sockets, so a Python process is systemd's side and prints each message.
const LISTEN = `
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1])
print('listening', flush=True)
while True:
    data, extra, _, _ = s.recvmsg(4096, socket.CMSG_SPACE(12) + socket.CMSG_SPACE(64))
    for level, kind, what in extra:
        if kind == socket.SCM_RIGHTS: os.close(int.from_bytes(what[:4], 'little'))  # answers a barrier
    pid = [int.from_bytes(what[:4], 'little') for level, kind, what in extra if kind == socket.SCM_CREDENTIALS]
    print(repr((pid, data.decode())), flush=True)
`;

let folder: string;
let listener: ChildProcess;
let lines: Interface;
let end: AbortController;
const received: string[] = [];
const log = pino({ level: 'silent' });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cpusetd-notify-'));
  end = new AbortController();
  received.length = 0;
  listener = spawn('python3', ['-u', '-c', LISTEN, join(folder, 'notify')], { stdio: ['ignore', 'pipe', 'inherit'] });
  lines = createInterface({ input: listener.stdout! });
  await once(lines, 'line');
  lines.on('line', (line) => received.push(line));
});
afterEach(async () => {
  end.abort();
  const closed = once(listener, 'close');
  listener.kill();
  await closed;
  rmSync(folder, { recursive: true });
  jest.useRealTimers();
});

const begin = (health: HealthState): void =>
  notifyServiceManager({ notifySocket: join(folder, 'notify'), health, service: 'nri', log, signal: end.signal });
const firstMessage = async (): Promise<string> => {
  while (!received.some((line) => line.includes('READY=1'))) await once(lines, 'line');
  return received.find((line) => line.includes('READY=1'))!;
};

test('READY=1 is sent once, when containers are pinned', async () => {
  const health = new HealthState();
  begin(health);
  health.set('', 'SERVING');
  health.set('cri', 'SERVING');
  health.set('nri', 'SERVING');
  expect(await firstMessage()).toMatch(/STATUS=containers are pinned/);
  health.set('nri', 'NOT_SERVING');
  health.set('nri', 'SERVING');
  expect(received.filter((line) => line.includes('READY=1'))).toHaveLength(1);
});

test('READY=1 is sent at once when containers are pinned already', async () => {
  const health = new HealthState();
  health.set('nri', 'SERVING');
  begin(health);
  expect(await firstMessage()).toMatch(/STATUS=containers are pinned/);
});

test('without a runtime READY=1 is sent after ten seconds, with that status', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  begin(new HealthState());
  jest.advanceTimersByTime(9_999);
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(1);
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
  expect(await firstMessage()).toMatch(/STATUS=not connected to the runtime: containers are not pinned/);
});

test('abort ends the timer and the listener', () => {
  jest.useFakeTimers();
  const listeners = new Set<unknown>();
  notifyServiceManager({
    notifySocket: join(folder, 'notify'),
    health: {
      get: () => 'NOT_SERVING',
      onChange: (_service, listener) => (listeners.add(listener), () => void listeners.delete(listener)),
    },
    service: 'nri',
    log,
    signal: end.signal,
  });
  expect([jest.getTimerCount(), listeners.size]).toEqual([1, 1]);
  end.abort();
  expect([jest.getTimerCount(), listeners.size]).toEqual([0, 0]);
});

function argumentsWith(options: DaemonOptions): string[] {
  makeDaemonHost(folder, '1x4x2');
  const own = { 'reserved-cpus': '0', 'nri-socket': join(folder, 'nri.sock'), 'cri-endpoint': 'off' };
  return rigArguments(folder, { ...own, ...options });
}

test('a daemon process sends READY=1 after the synchronization with the runtime', async () => {
  builtBundle();
  const runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
  const args = argumentsWith({});
  const daemon = startDaemon({ args, env: { NOTIFY_SOCKET: join(folder, 'notify') } });
  try {
    expect(await firstMessage()).toMatch(/STATUS=containers are pinned/);
    await daemon.waitForLog('synchronized with the runtime');
  } finally {
    await daemon.dispose();
    await runtime.close();
  }
});

test('a daemon process tells systemd again and again that rounds end', async () => {
  builtBundle();
  const runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
  const args = argumentsWith({ 'reconcile-period': '100ms' });
  const env = { NOTIFY_SOCKET: join(folder, 'notify'), WATCHDOG_USEC: '600000' };
  const daemon = startDaemon({ args, env });
  try {
    while (received.filter((line) => line.includes('WATCHDOG=1')).length < 3) await once(lines, 'line');
    expect(received.filter((line) => line.includes('READY=1'))).toHaveLength(1);
  } finally {
    await daemon.dispose();
    await runtime.close();
  }
});

test('a missing program is one line in the log', async () => {
  const path = process.env['PATH'];
  const logged: string[] = [];
  const health = new HealthState();
  const written = new Promise<void>((resolve) => {
    const write = (line: string): void => {
      logged.push(line);
      resolve();
    };
    process.env['PATH'] = folder;
    notifyServiceManager({
      notifySocket: join(folder, 'notify'),
      health,
      service: 'nri',
      log: pino({ level: 'error' }, { write }),
      signal: end.signal,
    });
    health.set('nri', 'SERVING');
    process.env['PATH'] = path;
  });
  await written;
  expect(logged.join('')).toMatch(/systemd could not be notified that the start is complete/);
});
