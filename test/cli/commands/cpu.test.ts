import { join } from 'node:path';

import { withAdminRig } from '../../admin/with-admin-server';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess as cpusetd } from '../../support/run-cli';

const makeDir = useTempDirs();

test('the owner, the promise, what the kernel has, the verdict, and that there is no journal', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const stateDir = join(makeDir(), 'none');
    const run = await cpusetd(['cpu', '2', '--admin-socket', socketPath, '--state-dir', stateDir]);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    const lines = run.stdout.split('\n');
    expect(lines[0]).toMatch(/^CPU 2 +exclusive; node worker-1$/);
    expect(lines).toContainEqual(expect.stringMatching(/^owner +default\/web app, since 2026-/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^promised +2-3; the kernel has 2-3, read 2026-11-21T10:00:00Z$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^verdict +violated since .*: CPU 3 is offline$/));
    expect(lines).toContainEqual(expect.stringMatching(/^drifts +13 since cpusetd started/));
    expect(lines).toContainEqual(expect.stringMatching(/^now +\S/));
    expect(run.stdout).toMatch(/\nNo history: .*none\/journal: no such file or directory\n$/);
  });
});

test('CPUs that stay with a pod, and one of nobody', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const show = async (cpu: string) =>
      (await cpusetd(['cpu', cpu, '--admin-socket', socketPath, '--state-dir', makeDir()])).stdout;
    expect(await show('4')).toMatch(/\nidle +of default\/job init since /);
    expect(await show('6')).toMatch(/^CPU 6 +in the shared pool/);
  });
});

test('-o json has all of it, and a CPU that the machine does not have is not found', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const args = ['--admin-socket', socketPath, '--state-dir', makeDir()];
    const report = JSON.parse((await cpusetd(['cpu', '2', '-o', 'json', ...args])).stdout) as {
      owners: { pod: string; promised: string }[];
      now: { seen: boolean };
    };
    expect(report.owners.map(({ pod, promised }) => [pod, promised])).toEqual([['web', '2-3']]);
    expect(typeof report.now.seen).toBe('boolean');
    expect(await cpusetd(['cpu', '999', ...args])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^cpusetd: CPU 999: this machine has no such CPU; it has 0-8/),
    });
  });
});
