import { parse } from 'yaml';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';

const makeDir = useTempDirs();

const flags = (): readonly string[] => {
  const dir = makeDir();
  return [
    '--reserved-cpus',
    '0',
    '--nri-socket',
    `${dir}/nri.sock`,
    '--cri-endpoint',
    'off',
    '--kubelet-root-dir',
    dir,
    '--state-dir',
    dir,
  ];
};

test('something in the way: a table with the remedy, and exit 1', async () => {
  const { status, stdout, stderr } = await runInProcess(['check', ...flags()]);
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toMatch(/^CHECK +RESULT +FOUND\noptions +ok +they are valid/);
  expect(stdout).toMatch(/\nnri +error +.*nri\.sock is not there; switch NRI on in the runtime/);
  expect(stdout).toMatch(/\n\ncpusetd can't do its work here yet: 1 to put right.*\.\n$/);
});

test('--report-only tells the same, and exits 0', async () => {
  const { status, stdout } = await runInProcess(['check', '--report-only', ...flags()]);
  expect(status).toBe(0);
  expect(stdout).toContain('1 to put right');
});

test.each([
  ['json', JSON.parse],
  ['yaml', parse],
] as const)('-o %s has the findings', async (output, read: (text: string) => unknown) => {
  const { status, stdout } = await runInProcess(['check', '-o', output, ...flags()]);
  expect(status).toBe(1);
  const { findings } = read(stdout) as {
    readonly findings: readonly { readonly check: string; readonly level: string }[];
  };
  expect(findings.filter(({ level }) => level === 'error').map(({ check }) => check)).toEqual(['nri']);
});

test('wrong options are told as run tells them', async () => {
  const run = await runInProcess(['check', '--reserved-cpus', 'x', '--log-level', 'loud']);
  expect(run).toMatchObject({ status: 2, stdout: '' });
  expect(run.stderr).toContain('--reserved-cpus: "x" is not a list of CPUs');
  expect(run.stderr).toContain('--log-level: "loud" is not a known value');
});

test('--report-only: what starts after it does not depend on it, whatever is wrong', async () => {
  const run = await runInProcess(['check', '--report-only', '--reserved-cpus', 'x']);
  expect(run).toMatchObject({ status: 0, stdout: '' });
  expect(run.stderr).toContain('cpusetd: --reserved-cpus: "x" is not a list of CPUs');
});
