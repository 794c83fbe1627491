import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { builtBundle } from '../support/built-bundle';
import { daemonArguments, daemonPaths, makeDaemonHost } from '../support/daemon-paths';
import { runInProcess } from '../support/run-cli';

let folder: string;
/** Closes what a test opens, also when the test fails. */
const closers: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offline-'));
  makeDaemonHost(folder, '1x4x2');
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
  rmSync(folder, { recursive: true, force: true });
});

const setOnline = (cpus: string): void => writeFileSync(join(folder, 'sys/devices/system/cpu/online'), `${cpus}\n`);
const write = (...lines: readonly string[]): void =>
  writeFileSync(join(folder, 'cpusetd.yaml'), lines.map((line) => `${line}\n`).join(''));

/** A daemon of the bundle with its file of options, without a runtime. */
function startDaemon() {
  const options = { config: join(folder, 'cpusetd.yaml'), 'cgroup-writes': 'off', 'cri-endpoint': 'off' };
  const child = spawn(process.execPath, [builtBundle(), ...daemonArguments(folder, options)], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closers.push(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const seen: string[] = [];
  const until = async (msg: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`it ended before "${msg}":\n${seen.join('\n')}`);
      const facts = JSON.parse(value) as Record<string, unknown>;
      seen.push(value);
      if (facts['msg'] === msg) return facts;
    }
  };
  const askStatus = async () => {
    const { stdout } = await runInProcess([
      'status',
      '-o',
      'json',
      '--admin-socket',
      daemonPaths(folder)['admin-socket']!,
    ]);
    const { node } = JSON.parse(stdout) as { node: { reserved: string; alarms: readonly { kind: string }[] } };
    return {
      reserved: node.reserved,
      alarms: node.alarms.map(({ kind }) => kind).filter((kind) => kind.startsWith('config')),
    };
  };
  return { child, until, askStatus };
}

test('a reserved CPU goes offline and comes back: the kill switch and other options work meanwhile, and what could not be had is tried again', async () => {
  setOnline('0-4,6-7');
  write('reserved-cpu-count: 2');
  const daemon = startDaemon();
  await daemon.until('started');
  expect(await daemon.askStatus()).toEqual({ reserved: '0,4', alarms: [] });

  write('reserved-cpus: 0,5', 'min-shared-cpus: 2'); // CPU 5 has never been online
  expect(await daemon.until('alarm')).toMatchObject({ alarm: 'config-refused' });
  expect(await daemon.askStatus()).toEqual({ reserved: '0,4', alarms: ['config-refused'] });
  setOnline('0-7');
  expect(await daemon.until('settings changed')).toMatchObject({
    changes: expect.arrayContaining([{ option: 'reserved-cpus', from: '', to: '0,5' }]),
  });
  expect(await daemon.askStatus()).toEqual({ reserved: '0,5', alarms: [] });

  setOnline('0-4,6-7');
  expect(await daemon.until('online CPUs changed')).toMatchObject({ left: '5' });
  write('reserved-cpus: 0,5', 'min-shared-cpus: 1', 'qos-actions: off');
  expect(await daemon.until('settings changed')).toMatchObject({
    changes: [{ option: 'qos-actions', from: 'preview', to: 'off' }],
  });
  expect(await daemon.until('settings changed')).toMatchObject({
    changes: [{ option: 'min-shared-cpus', from: '2', to: '1' }],
  });
  expect(await daemon.askStatus()).toEqual({ reserved: '0,5', alarms: [] });

  setOnline('0-7');
  expect(await daemon.until('online CPUs changed')).toMatchObject({ returned: '5' });
  expect(await daemon.askStatus()).toEqual({ reserved: '0,5', alarms: [] });
});
