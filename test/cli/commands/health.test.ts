import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

import { withAdminRig } from '../../admin/with-admin-server';
import { runInProcess as cpusetd } from '../../support/run-cli';
import { runBundle, startBundle } from '../run-bundle';

test.each`
  all              | args       | status
  ${'SERVING'}     | ${[]}      | ${0}
  ${'NOT_SERVING'} | ${[]}      | ${1}
  ${'SERVING'}     | ${['nri']} | ${1}
`('given a server that is $all, health $args exits with $status', async ({ all, args, status }) => {
  await withAdminRig(async ({ start, health, socketPath }) => {
    await start();
    health.set('', all);
    expect(await cpusetd(['health', ...args, '--admin-socket', socketPath])).toMatchObject({ status, stderr: '' });
  });
});

test('health without arguments lists every service and alarm', async () => {
  await withAdminRig(async ({ start, health, socketPath }) => {
    await start();
    health.set('', 'SERVING');
    health.set('cpusetd.v1.CpuManager', 'SERVING');
    const { stdout } = await runBundle(['health'], '', { CPUSETD_ADMIN_SOCKET: socketPath });
    expect(stdout).toBe(
      [
        'SERVICE                STATUS',
        '(all)                  SERVING',
        'cpusetd.v1.CpuManager  SERVING',
        'nri                    NOT_SERVING',
        'cri                    NOT_SERVING',
        'kube                   NOT_SERVING',
        'ALARM repairs-stopped: someone changes it again',
        '',
      ].join('\n'),
    );
  });
});

/** The options of the daemon leave out two parts. */
async function withPartsOff(
  use: (run: (...args: string[]) => ReturnType<typeof cpusetd>) => Promise<void>,
): Promise<void> {
  await withAdminRig(async ({ start, health, backend, socketPath }) => {
    await start();
    health.set('', 'SERVING');
    health.set('nri', 'SERVING');
    const { kube: _, ...node } = backend.current.node;
    backend.current = { ...backend.current, node: { ...node, alarms: [], cri: { ...node.cri, state: 'off' } } };
    await use((...args) => cpusetd(['health', ...args, '--admin-socket', socketPath]));
  });
}

test('a part that the options leave out is off, which is no fault of the daemon', async () => {
  await withPartsOff(async (run) => {
    const { status, stdout } = await run();
    expect(stdout).toMatch(/nri +SERVING\ncri +off\nkube +off\n$/);
    expect(status).toBe(0);
    for (const part of ['cri', 'kube'])
      expect(await run(part)).toMatchObject({
        status: 1,
        stdout: expect.stringMatching(new RegExp(`\n${part} +off\n$`)),
      });
  });
});

test('health for programs', async () => {
  await withPartsOff(async (run) => {
    const health = {
      services: [
        { service: '', status: 'SERVING' },
        { service: 'cpusetd.v1.CpuManager', status: 'NOT_SERVING' },
        { service: 'nri', status: 'SERVING' },
        { service: 'cri', status: 'off' },
        { service: 'kube', status: 'off' },
      ],
      alarms: [],
    };
    expect(JSON.parse((await run('-o', 'json')).stdout)).toEqual(health);
    expect(parse((await run('-o', 'yaml')).stdout)).toEqual(health);
    expect(await run('--watch', '-o', 'json')).toMatchObject({ status: 2, stdout: '' });
  });
});

test('a service that does not exist is wrong usage', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    for (const args of [['x'], ['x', '--watch']]) {
      expect(await cpusetd(['health', ...args, '--admin-socket', socketPath])).toEqual({
        status: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^cpusetd: "x": the daemon has no such service; choose one of cpusetd\.v1\.CpuManager, nri, cri/,
        ),
      });
    }
  });
});

test('--watch prints a line at every change, and ends with exit 1 when the daemon ends', async () => {
  await withAdminRig(async ({ start, health, socketPath }) => {
    const server = await start();
    const watch = startBundle(['health', 'nri', '-w', '--admin-socket', socketPath]);
    expect(await watch.nextLine()).toBe('NOT_SERVING');
    health.set('nri', 'SERVING');
    expect(await watch.nextLine()).toBe('SERVING');
    await server.close();
    expect(await watch.nextLine()).toBe('NOT_SERVING');
    expect(await watch.ended).toEqual({
      status: 1,
      stderr: 'cpusetd: cpusetd ended the watch: it is shutting down\n',
    });
  });
});

test('--watch exits with 0 when it is stopped', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const stop = new AbortController();
    const ended = cpusetd(['health', '--watch', '--admin-socket', socketPath], { signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    expect(await ended).toMatchObject({ status: 0, stderr: '' });
  });
});

test('without a daemon: exit 1 with the reason', async () => {
  await withAdminRig(async ({ folder }) => {
    expect(await cpusetd(['health', '--admin-socket', join(folder, 'none.sock')])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^cpusetd: no cpusetd at .*none\.sock: there is no such socket; start cpusetd/),
    });
  });
});

test('a file that is no socket: exit 1 with that reason', async () => {
  await withAdminRig(async ({ folder }) => {
    const path = join(folder, 'file');
    writeFileSync(path, '');
    const { status, stderr } = await cpusetd(['health', '--admin-socket', path]);
    expect([status, stderr]).toEqual([1, expect.stringContaining('this is not a socket')]);
  });
});
