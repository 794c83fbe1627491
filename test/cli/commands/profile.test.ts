import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withAdminRig } from '../../admin/with-admin-server';
import { builtBundle } from '../../support/built-bundle';
import { runInProcess as cpusetd } from '../../support/run-cli';
import { waitUntil, within } from '../../support/wait-until';
import { startBundle } from '../run-bundle';

const folder = mkdtempSync(join(tmpdir(), 'profile-'));
const policy = join(folder, 'policy.yaml');
beforeAll(() => {
  builtBundle();
  writeFileSync(
    policy,
    'apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\nspec: { syncPolicy: [{ name: cpu_usage_avg_5m, period: 3m }] }\n',
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

const allowsProfiles = (): boolean => true;

test('a CPU profile is written into a new file that only we can read', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start({ allowsProfiles });
    const path = join(folder, 'a.cpuprofile');
    const args = ['profile', '--cpu', '--seconds', '1', '--admin-socket', socketPath];
    expect(await cpusetd([...args, '-o', path])).toEqual({ status: 0, stdout: `${path}\n`, stderr: '' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toHaveProperty('samples');
    const { stdout, status } = await cpusetd([...args, '-o', '-']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toHaveProperty('samples');
  });
});

test('a file that is there, or a link in its place, is not overwritten', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start({ allowsProfiles });
    const [target, link] = [join(folder, 'target'), join(folder, 'link')];
    writeFileSync(target, 'kept');
    symlinkSync(target, link);
    for (const path of [target, link])
      expect(await cpusetd(['profile', '--cpu', '-o', path, '--admin-socket', socketPath])).toMatchObject({
        status: 2,
        stderr: `cpusetd: --output ${path}: is there already; write another name\n`,
      });
    expect(readFileSync(target, 'utf8')).toBe('kept');
  });
});

test('a refusal leaves no file', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const path = join(folder, 'none.cpuprofile');
    const { status, stderr } = await cpusetd(['profile', '--heap', '-o', path, '--admin-socket', socketPath]);
    expect(status).toBe(1);
    expect(stderr).toContain('profiles are off here: set --profiling on, which needs no restart');
    expect(existsSync(path)).toBe(false);
  });
});

test.each`
  args                              | message
  ${[]}                             | ${'choose one of --cpu and --heap'}
  ${['--cpu', '--heap']}            | ${'choose one of --cpu and --heap'}
  ${['--cpu', '--seconds', '0']}    | ${'--seconds: is out of range; write a whole number from 1 to 60'}
  ${['--cpu', '--seconds', 'long']} | ${'--seconds: is not a whole number'}
`('given $args: exit 2, and the message names rule and remedy', async ({ args, message }) => {
  const ended = await cpusetd(['profile', ...(args as string[])]);
  expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message as string) as unknown });
});

test('the annotator has a socket for it when asked; its heap snapshot is one that the Chrome DevTools read', async () => {
  const socket = join(folder, 'p.sock');
  const annotator = startBundle([
    ...['annotator', '--policy-config-path', policy, '--prometheus-address', 'http://127.0.0.1:1'],
    ...['--kubeconfig', join(folder, 'kubeconfig'), '--health-port', '0', '--leader-elect=false'],
    ...['--profile-socket', socket],
  ]);
  await waitUntil('the socket', () => existsSync(socket));
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  const path = join(folder, 'a.heapsnapshot');
  expect(await cpusetd(['profile', '--heap', '-o', path, '--admin-socket', socket])).toMatchObject({ status: 0 });
  const { snapshot, nodes, strings } = JSON.parse(readFileSync(path, 'utf8')) as {
    snapshot: { meta: { node_fields: string[] }; node_count: number };
    nodes: number[];
    strings: string[];
  };
  expect(nodes).toHaveLength(snapshot.node_count * snapshot.meta.node_fields.length);
  expect(strings.length).toBeGreaterThan(1_000);
  annotator.kill('SIGTERM');
  expect((await within('the end', annotator.ended)).status).toBe(0);
  expect(existsSync(socket)).toBe(false);
});
