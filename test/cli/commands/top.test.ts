import { writeFileSync } from 'node:fs';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess as cpusetd } from '../../support/run-cli';

const makeDir = useTempDirs();

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

test.each(['--cgroup-root', 'the file of the service'])(
  'cgroups that are not there, by %s: the path, the remedy, and exit 1',
  async (from) => {
    const etcRoot = makeDir();
    const root = `${etcRoot}/cgroup`;
    if (from !== '--cgroup-root') writeFileSync(`${etcRoot}/cpusetd.yaml`, `cgroup-root: ${root}\n`);
    const args = from === '--cgroup-root' ? [from, root] : [];
    const { status, stdout, stderr } = await cpusetd(['top', '-n', '1', ...args], { etcRoot });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(`${root}: neither cpuset/cpuset.cpus`);
    expect(stderr).toContain('--cgroup-root');
  },
);
