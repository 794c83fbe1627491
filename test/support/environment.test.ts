import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'environment-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a test file with this content in the environment. Gives jest's report. */
function run(content: string): { status: number | null; report: string } {
  writeFileSync(join(folder, 'a.test.js'), content);
  const config = {
    rootDir: folder,
    testEnvironment: join(__dirname, 'environment.ts'),
    transform: { '\\.ts$': [require.resolve('@swc/jest'), { jsc: { parser: { syntax: 'typescript' } } }] },
    cacheDirectory: join(folder, 'cache'),
  };
  const args = [require.resolve('jest/bin/jest'), '--ci', '-i', '--config', JSON.stringify(config)];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  return { status, report: stderr };
}

test('files that are left in the temporary folder fail the file, and are removed', () => {
  const { status, report } = run(`
    const { mkdtempSync } = require('node:fs');
    const { join } = require('node:path');
    test('it leaves a folder', () => void mkdtempSync(join(require('node:os').tmpdir(), 'mine-')));
    test('processes make their files there too', () => {
      const shell = 'touch "$TMPDIR/theirs"';
      require('node:child_process').execFileSync('sh', ['-c', shell]);
    });`);
  expect(report).toMatch(/The tests are over, but these files are left of them: mine-\w+, theirs/);
  expect(status).toBe(1);
});

test('files that are removed after the tests are none that are left', () => {
  const { status } = run(`
    const { mkdtempSync, rmSync } = require('node:fs');
    const folder = mkdtempSync(require('node:os').tmpdir() + '/mine-');
    afterAll(() => rmSync(folder, { recursive: true }));
    test('it passes', () => undefined);`);
  expect(status).toBe(0);
});

test('a command without options looks for its daemon in the temporary folder, and not on the host', () => {
  const { status } = run(`
    test.each(['CPUSETD_ADMIN_SOCKET', 'CPUSETD_STATE_DIR'])('%s', (name) => {
      expect(process.env[name]).toMatch(require('node:os').tmpdir() + '/');
    });`);
  expect(status).toBe(0);
});

test('a clean-up of what a failed test never opened adds no error to the cause', () => {
  const { status, report } = run(`
    let daemon;
    afterEach(() => daemon.stop());
    test('it fails', () => { throw new Error('the cause'); });`);
  expect(report).toContain('the cause');
  expect(report).not.toContain('Cannot read properties');
  expect(status).toBe(1);
});

test('a clean-up that fails by itself fails its test', () => {
  const { status, report } = run(`
    let daemon;
    afterEach(() => daemon.stop());
    test('it passes', () => undefined);`);
  expect(report).toContain('Cannot read properties of undefined');
  expect(status).toBe(1);
});
