import { runInProcess as cpusetd } from '../support/run-cli';
import { runBundle } from './run-bundle';

test.each`
  args                                                                          | message
  ${['nope']}                                                                   | ${"cpusetd: unknown command 'nope'"}
  ${['run', '--nope']}                                                          | ${'See cpusetd run --help.'}
  ${['run', '--reserved-cpu', '0']}                                             | ${'(Did you mean --reserved-cpus?)'}
  ${['run', '--log-level']}                                                     | ${"option '--log-level <trace|debug|info|warn|error|fatal>' argument missing"}
  ${['run', 'extra']}                                                           | ${'too many arguments'}
  ${['run']}                                                                    | ${'cpusetd: no CPU is reserved, and the static policy needs at least one for the system; set'}
  ${['run', '--reserved-cpus', '0', '--log-level', 'x']}                        | ${'cpusetd: --log-level: "x" is not a known value; choose one of trace'}
  ${['run', '--log-level', 'info', '--log-level', 'info']}                      | ${'cpusetd: --log-level: is given 2 times; give it once'}
  ${['run', '--config', '/nope']}                                               | ${'cpusetd: --config /nope: no such file; check the path'}
  ${['status', '-o', 'xml']}                                                    | ${"argument 'xml' is invalid. Allowed choices are table, wide, json, yaml."}
  ${['status', '--watch=1']}                                                    | ${'cpusetd: '}
  ${['health', 'a', 'b']}                                                       | ${'too many arguments'}
  ${['state', 'import-kubelet']}                                                | ${'See cpusetd state import-kubelet --help.'}
  ${['state', 'show', '-o', 'xml']}                                             | ${'See cpusetd state show --help.'}
  ${['allocate', '--batch', '-']}                                               | ${'cpusetd: no machine is given; name a file of machines with --topologies'}
  ${['allocate', '--batch', '-', '--topologies', '/no']}                        | ${'cpusetd: --topologies /no: no such file; check the path'}
  ${['allocate', '--batch', '-', '--topology', 'live', '--options', 'a=1,a=2']} | ${'cpusetd: --options: "a=1,a=2" sets a twice; set it once'}
  ${['allocate', '--batch', '-', '--topology', 'live', '--options', 'a']}       | ${'cpusetd: --options: "a" has a part that is no pair (a); write name=value, separated by commas'}
`('cpusetd $args is wrong usage: exit 2 and a message', async ({ args, message }) => {
  const ended = await cpusetd(args);
  expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test('without a command the help is printed on standard error', async () => {
  expect(await runBundle([])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('Usage: cpusetd'),
  });
});

test.each([['--help'], ['run', '--help'], ['status', '-h']])('%s %s prints help', async (...args) => {
  expect(await cpusetd(args)).toMatchObject({
    status: 0,
    stderr: '',
    stdout: expect.stringContaining('Usage: cpusetd'),
  });
});

test.each([
  [],
  ['run'],
  ['status'],
  ['topology'],
  ['explain'],
  ['health'],
  ['allocate'],
  ['state'],
  ['state', 'show'],
  ['state', 'import-kubelet'],
])('%s %s --help fits 80 columns', async (...command) => {
  const { stdout } = await cpusetd([...command, '--help']);
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('run --help shows each option with its default and variable', async () => {
  const { stdout } = await cpusetd(['run', '--help']);
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    '--reconcile-period <duration> how often every promise is compared with the kernel (default 10s, CPUSETD_RECONCILE_PERIOD)',
  );
});

test('--version prints the version of package.json', async () => {
  const { version } = jest.requireActual<{ version: string }>('../../package.json');
  expect(await runBundle(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
});

test('a wrong variable is named in the message', async () => {
  const env = { CPUSETD_RESERVED_CPUS: 'x', CPUSETD_NOPE: '1' };
  const { status, stderr } = await cpusetd(['run'], { env });
  expect(status).toBe(2);
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringContaining('cpusetd: CPUSETD_NOPE: no such option'),
    expect.stringContaining('cpusetd: CPUSETD_RESERVED_CPUS: "x" is not a list of CPUs'),
  ]);
});
