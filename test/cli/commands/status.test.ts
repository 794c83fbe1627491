import { parse } from 'yaml';

import { parseCpuList } from '../../../src/core/cpuset';
import { container, sampleStatus } from '../../admin/sample-status';
import { withAdminRig } from '../../admin/with-admin-server';
import { runInProcess as cpusetd } from '../../support/run-cli';
import { startBundle } from '../run-bundle';

interface Shown {
  readonly node: { readonly sharedPool: string };
  readonly containers: readonly unknown[];
}

test('the table is aligned and has exclusive containers first, with the reasons', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const { status, stdout } = await cpusetd(['status', '-o', 'wide', '--admin-socket', socketPath]);
    expect(status).toBe(0);
    const lines = stdout.split('\n');
    expect(lines).toContain('shared pool  0-1,6-7');
    expect(lines).toContain('free         1,6-7 (3 CPUs)');
    expect(lines).toContainEqual(
      expect.stringMatching(/^cri {10}warning {2}connecting since 2026-11-21T10:00:00Z: connection refused/),
    );

    const top = lines.findIndex((line) => line.startsWith('POD '));
    const header = lines[top]!;
    const rows = lines.slice(top + 1, top + 6);
    const column = (row: string, name: string): string => row.slice(header.indexOf(name)).split('  ')[0]!;
    expect(
      rows.map((row) => [
        column(row, 'CONTAINER'),
        column(row, 'PLACEMENT'),
        column(row, 'POLICY'),
        column(row, 'NODES'),
        column(row, 'PROMISED'),
        column(row, 'VERDICT'),
        column(row, 'BECAUSE'),
        column(row, 'POD UID'),
      ]),
    ).toEqual([
      ['app', 'exclusive', 'static', '-', '2-3', 'violated', 'CPU 3 is offline', 'uid-web'],
      [
        'numa',
        'numa',
        'numa, by topology.crane.io/cpu-policy',
        '0-1',
        '0-1,6-7',
        'unknown',
        'not a whole number of CPUs',
        'uid-far',
      ],
      ['sidecar', 'shared', '-', '-', '0-1,6-7', 'kept', 'not a whole number of CPUs', 'uid-web'],
      ['x', 'left-alone', '-', '-', '-', 'unknown', 'policy none', 'uid-old'],
      ['(pause)', 'shared', '-', '-', '0-1,6-7', 'kept', 'not a whole number of CPUs', 'uid-far'],
    ]);
    expect(stdout).toContain('default/job  init       static  4-5');
  });
});

test('kept pause containers are counted below the others, and shown in the wide form', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const args = ['status', 'uid-far', '--admin-socket', socketPath];
    const { stdout } = await cpusetd(args);
    expect(stdout).toMatch(/\n\n1 pause container is kept too \(-o wide\)\.\n$/);
    expect(stdout).not.toContain(' (pause) ');
  });
});

test.each([
  [['web'], ['app', 'sidecar'], 0],
  [['default/web'], ['app', 'sidecar'], 0],
  [['uid-far'], ['(pause)', 'numa'], 0],
  [['-n', 'default', 'old'], ['x'], 0],
  [['-n', 'kube-system'], [], 0],
  [['--verdict', 'kept, violated'], ['(pause)', 'app', 'sidecar'], 0],
  [['--drifted'], ['app', 'numa', 'x'], 0],
  [['web', '--drifted'], ['app'], 0],
  [['job'], [], 1],
  [['nosuch'], [], 0],
])('status %j shows these containers: %j', async (args, names, idle) => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const json = await cpusetd(['status', ...args, '-o', 'json', '--admin-socket', socketPath]);
    const shown = JSON.parse(json.stdout) as { containers: { container: string }[]; idle: unknown[] };
    expect(shown.containers.map(({ container: name }) => name).sort()).toEqual(names);
    expect(shown.idle).toHaveLength(idle);
    const wide = await cpusetd(['status', ...args, '-o', 'wide', '--admin-socket', socketPath]);
    const { stdout } = wide;
    expect(stdout).not.toMatch(/^cpusetd /m); // the node was not asked for
    for (const name of names) expect(stdout).toContain(` ${name} `);
    const isMissing = names.length === 0 && idle === 0;
    const asksForPod = args.some((arg, i) => !arg.startsWith('-') && !args[i - 1]?.startsWith('-'));
    expect([json.status, wide.status]).toEqual(isMissing && asksForPod ? [1, 1] : [0, 0]);
    if (names.length === 0) expect(stdout).toMatch(idle > 0 ? /^Idle: / : /^No such containers\.\n$/);
  });
});

test('a pod without containers: the name, the node and the command that tells more, and exit 1', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const missing = await cpusetd(['status', 'nosuch', '--admin-socket', socketPath]);
    expect(missing).toEqual({
      status: 1,
      stdout: 'No such containers.\n',
      stderr:
        'cpusetd: no container of the pod "nosuch" on node worker-1: cpusetd explain nosuch has what is known of it\n',
    });
    const refused = await cpusetd(['status', 'default/big', '--admin-socket', socketPath]);
    expect(refused.status).toBe(1);
    expect(refused.stdout).toContain('default/big solver (3 times, the last 2026-11-21T10:00:00Z): no 4 CPUs are free');
    const other = await cpusetd(['status', 'web', '--admin-socket', socketPath]);
    expect(other.stdout).not.toContain('default/big');
  });
});

test.each([
  [['a/b/c'], 'pod "a/b/c": is no name of a pod'],
  [['a/b', '-n', 'c'], 'pod "a/b": is not in --namespace c; name one of them'],
  [['--verdict', 'fine'], 'There is no such verdict; choose from kept, pending, drifted'],
  [['--verdict', 'kept', '--drifted'], '--drifted: is a list of verdicts itself; leave --verdict out'],
])('status %j is wrong usage', async (args, message) => {
  const { status, stderr } = await cpusetd(['status', ...args]);
  expect(status).toBe(2);
  expect(stderr).toContain(message);
});

test('-o json prints the status, with CPU sets as texts', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const { stdout } = await cpusetd(['status', '-o', 'json', '--admin-socket', socketPath]);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(sampleStatus)));
  });
});

test('-o yaml has the same data', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const { stdout } = await cpusetd(['status', '-o', 'yaml', '--admin-socket', socketPath]);
    expect(parse(stdout)).toEqual(JSON.parse(JSON.stringify(sampleStatus)));
  });
});

test('control characters in names are escaped', async () => {
  await withAdminRig(async ({ start, backend, socketPath }) => {
    const evil = {
      ...container({ id: 'e', pod: 'a\u001b[2Jb\nc', container: 'x', placement: 'shared', requested: 0 }),
    };
    backend.current = { ...sampleStatus, containers: [evil], idle: [] };
    await start();
    const { stdout } = await cpusetd(['status', '--admin-socket', socketPath]);
    expect(stdout).toContain('default/a\\u001b[2Jb\\u000ac');
    expect(stdout).not.toContain('\u001b');
  });
});

test('--watch prints the whole status at each change, and exits with 0 on SIGINT', async () => {
  await withAdminRig(async ({ start, backend, socketPath }) => {
    await start();
    const watch = startBundle(['status', '--watch', '-o', 'json', '--admin-socket', socketPath]);
    const next = async () => JSON.parse((await watch.nextLine()) as string) as Shown;

    expect(await next()).toEqual(JSON.parse(JSON.stringify(sampleStatus)));
    backend.emit({ kind: 'container-removed', id: 'c' });
    expect((await next()).containers).toHaveLength(sampleStatus.containers.length - 1);
    backend.emit({ kind: 'node', node: { ...sampleStatus.node, sharedPool: parseCpuList('0') } });
    expect((await next()).node.sharedPool).toBe('0');
    watch.kill('SIGINT');
    expect(await watch.ended).toEqual({ status: 0, stderr: '' });
  });
});

test('--watch exits with 1 and the reason when the daemon ends', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    const server = await start();
    const watch = startBundle(['status', '-w', '--admin-socket', socketPath]);
    await watch.nextLine();
    await server.close();
    expect(await watch.ended).toEqual({
      status: 1,
      stderr: 'cpusetd: cpusetd ended the watch: it is shutting down\n',
    });
  });
});
