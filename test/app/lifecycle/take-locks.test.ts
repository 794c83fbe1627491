import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadConfig } from '../../../src/app/config';
import { withClosers } from '../../../src/app/lifecycle/closers';
import { takeLocks } from '../../../src/app/lifecycle/take-locks';

let folder: string;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'locks-'));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Takes the locks of a daemon with these options, does the work, and releases them. */
async function whileLocked(
  options: Record<string, string>,
  work: () => Promise<void> = async () => undefined,
): Promise<void> {
  const given = {
    'state-dir': join(folder, 'state'),
    'lock-dir': join(folder, 'locks'),
    'nri-socket': join(folder, 'nri.sock'),
    'admin-socket': join(folder, 'admin.sock'),
    'cri-endpoint': 'off',
    'reserved-cpu-count': '1',
    ...options,
  };
  const flags = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value]]));
  const loaded = await loadConfig({ flags, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join());
  const log = pino(
    { level: 'warn' },
    { write: (line) => void warnings.push((JSON.parse(line) as { because: string }).because) },
  );
  await withClosers(async (onClose) => {
    await takeLocks({ config: loaded.config, lockPath: `${loaded.config.stateDir}/lock`, log, onClose });
    await work();
  });
}

test('given another daemon with the same state, the second one is refused, and starts when the first has ended', async () => {
  const other = { 'nri-socket': join(folder, 'other-nri.sock'), 'admin-socket': join(folder, 'other.sock') };
  await whileLocked({}, async () => {
    await expect(whileLocked(other)).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
  });
  await expect(whileLocked(other)).resolves.toBeUndefined();
});

test('given another daemon with the same runtime and its own state, the second one is refused', async () => {
  const other = { 'state-dir': join(folder, 'other'), 'admin-socket': join(folder, 'other.sock') };
  await whileLocked({}, async () => {
    await expect(whileLocked(other)).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    await expect(whileLocked({ ...other, 'nri-socket': join(folder, 'other-nri.sock') })).resolves.toBeUndefined();
  });
});

test('two socket paths that are one through a symbolic link are refused with both options', async () => {
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  const options = { 'admin-socket': join(folder, 'real/a.sock'), 'nri-socket': join(folder, 'link/a.sock') };
  await expect(whileLocked(options)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/^--admin-socket and --nri-socket .*both lead to one socket/),
  });
});

test('a socket folder that others can write to: a warning names the option and the command', async () => {
  const open = join(folder, 'open');
  mkdirSync(open);
  chmodSync(open, 0o777);
  await whileLocked({ 'admin-socket': join(open, 'a.sock') });
  expect(warnings).toEqual([
    expect.stringMatching(/^--admin-socket .*others may write to .*open, and replace the socket; run: chmod go-w/),
  ]);
});
