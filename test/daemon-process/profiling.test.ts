import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon, waitUntil } from '../e2e/rig';
import { builtBundle } from '../support/built-bundle';
import { makeDaemonHost, rigArguments } from '../support/daemon-paths';
import { NriRuntime } from '../support/nri-runtime';
import { runInProcess as cpusetd } from '../support/run-cli';

beforeAll(() => void builtBundle());

test('profiles of the daemon are refused until the option says on, which needs no restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'profiling-'));
  const file = join(folder, 'cpusetd.yaml');
  writeFileSync(file, 'reserved-cpus: 0\n');
  makeDaemonHost(folder, '1x4x2');
  const runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
  const options = { 'nri-socket': join(folder, 'nri.sock'), 'cri-endpoint': 'off', config: file };
  const daemon = startDaemon({ args: rigArguments(folder, options) });
  const path = join(folder, 'a.heapsnapshot');
  const take = () => cpusetd(['profile', '--heap', '-o', path, '--admin-socket', daemon.adminSocket]);
  try {
    await daemon.ready();
    expect(await take()).toMatchObject({ status: 1, stderr: expect.stringContaining('set --profiling on') as unknown });
    writeFileSync(file, 'reserved-cpus: 0\nprofiling: on\n');
    await waitUntil('the profile', async () => (await take()).status === 0);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toHaveProperty('snapshot.meta.node_fields');
  } finally {
    await daemon.dispose();
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
