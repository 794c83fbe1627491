import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { withAdminRig } from '../../admin/with-admin-server';
import { runInProcess as cpusetd } from '../../support/run-cli';

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

test('--topology shows the machine of a file without a daemon', async () => {
  await withAdminRig(async ({ folder }) => {
    const path = join(folder, 'machine.jsonl');
    writeFileSync(path, '{"name":"m","cpus":[[0,0,0,0,0],[1,1,0,0,0],[2,0,0,0,0],[3,1,0,0,0]]}\n');
    expect((await cpusetd(['topology', '--topology', path])).stdout).toContain('\n0  1\n2  3\n');
  });
});

test.each([
  [['topology', '-o', 'yaml'], "argument 'yaml' is invalid. Allowed choices are map, table, json."],
  [['topology', '--topology', '/nope'], '--topology /nope: no such file; check the path'],
])('cpusetd %j is wrong usage', async (args, message) => {
  expect(await cpusetd(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
});
