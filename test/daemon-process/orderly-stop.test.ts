import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtBundle } from '../support/built-bundle';
import { daemonArguments, daemonPaths, makeDaemonHost } from '../support/daemon-paths';
import { FakeApiServer } from '../support/kube/api-server';
import { NriRuntime } from '../support/nri-runtime';
import { waitUntil } from '../support/wait-until';

// The condition of the Node, of a process that is ended by a signal.

const NODES = '/api/v1/nodes';
let folder: string;
let server: FakeApiServer;
let runtime: NriRuntime;
let kill: () => void = () => undefined;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stop-'));
  makeDaemonHost(folder, '1x4x2');
  server = new FakeApiServer();
  await server.start();
  server.put(NODES, { metadata: { name: 'n1', uid: 'node-uid' }, status: {} });
  writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig);
  runtime = await NriRuntime.listen({ socketPath: daemonPaths(folder)['nri-socket']! });
});
afterEach(async () => {
  kill();
  await runtime.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const condition = (): Record<string, string> => {
  const { conditions = [] } = (server.get(NODES, 'n1')?.['status'] ?? {}) as { conditions?: Record<string, string>[] };
  return conditions[0] ?? {};
};

/** Starts a daemon and waits until the Node says that it pins. Gives its end. */
async function startDaemon() {
  const args = daemonArguments(folder, {
    'cgroup-writes': 'off',
    'cri-endpoint': 'off',
    'reserved-cpus': '0',
    kubeconfig: join(folder, 'kubeconfig'),
    'node-name': 'n1',
    'node-condition': 'on',
  });
  const child = spawn(process.execPath, [builtBundle(), ...args], { env: {}, stdio: ['ignore', 'ignore', 'inherit'] });
  kill = () => child.kill('SIGKILL');
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  await waitUntil('the Node says that it pins', () => condition()['status'] === 'True', 20_000, { seen: condition });
  return { child, ended };
}

test('SIGTERM: when the process has ended the Node says that it was stopped; the next one turns it', async () => {
  const { child, ended } = await startDaemon();
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(condition()).toMatchObject({ type: 'CpusetdReady', status: 'False', reason: 'Stopped' });
  await startDaemon();
  expect(condition()).toMatchObject({ reason: 'Pinning' });
});

test('SIGTERM while the API server is silent: the process ends all the same, with status 0', async () => {
  const { child, ended } = await startDaemon();
  server.trouble = () => ({ hang: true });
  const beganAt = performance.now();
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(performance.now() - beganAt).toBeLessThan(10_000); // of a busy machine: two seconds and the rest of the stop
  expect(condition()).toMatchObject({ status: 'True' });
});

test('SIGKILL leaves the condition as it was: only its heartbeat grows old', async () => {
  const { child, ended } = await startDaemon();
  child.kill('SIGKILL');
  await ended;
  expect(condition()).toMatchObject({ status: 'True', reason: 'Pinning' });
});
