import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { parseCpuList } from '../../../src/core/cpuset';
import { sampleStatus, sampleTopology } from '../../admin/sample-status';
import { withAdminRig } from '../../admin/with-admin-server';
import { runInProcess as cpusetd } from '../../support/run-cli';
import { startBundle } from '../run-bundle';

const row = '7    3     1       1     1      shared    -            -';

test.each`
  args               | shows
  ${[]}              | ${'socket 0, NUMA node 0, 8 GiB    socket 1, NUMA node 1, 8 GiB\n0# 1.                           2A 3A\n4b 5b                           6. 7.\n'}
  ${['-o', 'table']} | ${row}
  ${['-o', 'json']}  | ${'"offline": "8"'}
`('topology $args shows the status of the daemon', async ({ args, shows }: { args: string[]; shows: string }) => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const ended = await cpusetd(['topology', ...args, '--admin-socket', socketPath]);
    expect(ended).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining(shows) });
  });
});

test('-o yaml has the same data as JSON', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const [json, yaml] = await Promise.all(
      ['json', 'yaml'].map((format) => cpusetd(['topology', '-o', format, '--admin-socket', socketPath])),
    );
    expect(parse(yaml!.stdout)).toEqual(JSON.parse(json!.stdout));
  });
});

test('--watch shows the machine again when it has changed, and not at other changes; it exits with 0 on SIGINT', async () => {
  await withAdminRig(async ({ start, backend, socketPath }) => {
    await start();
    const watch = startBundle(['topology', '--watch', '-o', 'json', '--admin-socket', socketPath]);
    const next = async () =>
      JSON.parse((await watch.nextLine()) as string) as { readonly offline: string; readonly sharedPool: string };
    expect(await next()).toMatchObject({ offline: '8', sharedPool: '0-1,6-7' });
    backend.emit({ kind: 'container', container: sampleStatus.containers[0]! }); // nothing of it is shown
    backend.shownTopology = { ...sampleTopology, node: { ...sampleStatus.node, sharedPool: parseCpuList('0') } };
    backend.emit({ kind: 'node', node: { ...sampleStatus.node, sharedPool: parseCpuList('0') } });
    expect(await next()).toMatchObject({ sharedPool: '0' });
    watch.kill('SIGINT');
    expect(await watch.ended).toEqual({ status: 0, stderr: '' });
  });
});

test('--busy measures this machine: a column of the table, a fraction in JSON', async () => {
  const table = await cpusetd(['topology', '--topology', 'live', '--busy', '-o', 'table']);
  expect(table.stdout).toMatch(/^CPU .* BUSY\n0 .* \d+ %\n/);
  const json = await cpusetd(['topology', '--topology', 'live', '--busy', '-o', 'json']);
  const { cpus } = JSON.parse(json.stdout) as { readonly cpus: readonly { readonly busy: number }[] };
  for (const { busy } of cpus) expect(busy >= 0 && busy <= 1).toBe(true);
});

test('--topology shows the machine of a file without a daemon', async () => {
  await withAdminRig(async ({ folder }) => {
    const path = join(folder, 'machine.jsonl');
    writeFileSync(path, '{"name":"m","cpus":[[0,0,0,0,0],[1,1,0,0,0],[2,0,0,0,0],[3,1,0,0,0]]}\n');
    expect((await cpusetd(['topology', '--topology', path])).stdout).toContain('\n0  1\n2  3\n');
  });
});

test.each([
  [['topology', '-o', 'xml'], "argument 'xml' is invalid. Allowed choices are map, table, json, yaml."],
  [['topology', '--busy'], '--busy: the map has no room for it; add -o table'],
  [['topology', '--watch', '--topology', 'live'], '--watch: a machine alone does not change; leave --topology out'],
  [['topology', '--topology', '/nope'], '--topology /nope: no such file; check the path'],
])('cpusetd %j is wrong usage', async (args, message) => {
  expect(await cpusetd(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
});
