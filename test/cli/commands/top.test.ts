import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInProcess as cpusetd } from '../../support/run-cli';

test.each([
  [['--sort', 'cpu'], 'Allowed choices are used, wait, throttled, others, name, verdict.'],
  [['-d', '5'], "option '-d, --interval <time>' argument '5' is invalid"],
  [['-n', '0'], 'It must be a whole number from 1 on.'],
  [['-o', 'wide'], 'Allowed choices are table, json, yaml.'],
])('top %j is wrong usage', async (args, message) => {
  const { status, stderr } = await cpusetd(['top', ...args]);
  expect(status).toBe(2);
  expect(stderr).toContain(message);
});

test('cgroups that are not there: the path, the remedy, and exit 1', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'top-'));
  try {
    const { status, stdout, stderr } = await cpusetd(['top', '-n', '1', '--cgroup-root', folder]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /only processes of this container|give the mount point of the node's cgroups with --cgroup-root/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
