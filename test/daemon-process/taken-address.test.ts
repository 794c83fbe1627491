import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { builtBundle } from '../support/built-bundle';
import { daemonArguments, makeDaemonHost, type DaemonOptions } from '../support/daemon-paths';

let folder: string;
/** Closes what a test opens, also when the test fails. */
const closers: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'taken-'));
  makeDaemonHost(folder, '1x4x2');
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a daemon of the bundle, without a runtime. Gives its log lines one by one, and its exit status. */
function startDaemon(options: DaemonOptions) {
  const args = daemonArguments(folder, {
    'reserved-cpus': '0',
    'cgroup-writes': 'off',
    'cri-endpoint': 'off',
    ...options,
  });
  const child = spawn(process.execPath, [builtBundle(), ...args], { env: {}, stdio: 'pipe' });
  closers.push(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const seen: string[] = [];
  const until = async (msg: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`it ended before "${msg}": ${stderr}`);
      const facts = JSON.parse(value) as Record<string, unknown>;
      seen.push(String(facts['msg']));
      if (facts['msg'] === msg) return facts;
    }
  };
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, until, seen, ended, stderr: () => stderr };
}

function openServer(): Server {
  const server = createServer();
  closers.push(() => server.close());
  return server;
}

test('a metrics port in use is an alarm while the daemon goes on, and ends when the port is free', async () => {
  const other = openServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const daemon = startDaemon({ 'metrics-address': `127.0.0.1:${port}` });
  expect(await daemon.until('alarm')).toMatchObject({ alarm: 'not-listening', subject: '--metrics-address' });
  await daemon.until('started');
  other.close();
  expect(await daemon.until('alarm is over')).toMatchObject({ alarm: 'not-listening' });
  expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain('cpusetd_build_info');
  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
});

test('an admin socket in use ends the start before the connection to the runtime', async () => {
  const admin = join(folder, 'a.sock');
  const other = openServer();
  await new Promise<void>((resolve) => other.listen(admin, resolve));
  const daemon = startDaemon({ 'admin-socket': admin });
  await expect(daemon.until('started')).rejects.toThrow('another process answers there');
  expect(await daemon.ended).toBe(1);
  expect(daemon.seen).not.toContain('not connected to the runtime: new containers are not pinned');
});
