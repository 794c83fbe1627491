import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtBundle } from '../support/built-bundle';
import { daemonArguments, daemonPaths, makeDaemonHost } from '../support/daemon-paths';
import { runInProcess } from '../support/run-cli';
import { waitUntil } from '../support/wait-until';

let folder: string;
let stop: () => void = () => undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'notes-'));
  makeDaemonHost(folder, '1x4x2');
});
afterEach(() => {
  stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a daemon whose options ask for nothing finds damaged notes: each is an alarm with its remedy, until the file is removed', async () => {
  const { 'state-dir': stateDir = '', 'admin-socket': socket = '' } = daemonPaths(folder);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const damaged = ['irq-affinities.json', 'node-resources.json', 'qos-actions.json'];
  for (const name of damaged) writeFileSync(join(stateDir, name), '{"version":;');
  // An earlier process has set it aside.
  writeFileSync(join(stateDir, 'taken-cpus.json.bad-3'), '');
  const options = { 'reconcile-period': '100ms', 'cgroup-writes': 'off', 'cri-endpoint': 'off', 'reserved-cpus': '0' };
  const child = spawn(process.execPath, [builtBundle(), ...daemonArguments(folder, options)], {
    env: {},
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  stop = () => child.kill('SIGKILL');
  const alarms = async (): Promise<readonly string[]> => {
    const { stdout } = await runInProcess(['status', '-o', 'json', '--admin-socket', socket]);
    if (stdout === '') return [];
    const { node } = JSON.parse(stdout) as { node: { alarms: { kind: string; subject: string; because: string }[] } };
    return node.alarms
      .filter(({ kind }) => kind === 'note-set-aside')
      .map(({ subject, because }) => `${subject}: ${/set aside as (\S+):/.exec(because)?.[1]}`)
      .sort();
  };
  const all = [...damaged.map((name) => `${name}: ${name}.bad-1`), 'taken-cpus.json: taken-cpus.json.bad-3'];
  await waitUntil('the alarms', async () => (await alarms()).length === all.length);
  expect(await alarms()).toEqual(all);
  const { stdout } = await runInProcess(['status', '--admin-socket', socket]);
  expect(stdout).toContain('look at the file that the text names, then remove it');
  for (const name of readdirSync(stateDir)) if (name.includes('.bad-')) rmSync(join(stateDir, name));
  await waitUntil('the end of the alarms', async () => (await alarms()).length === 0);
});
