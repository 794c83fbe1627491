import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { listCommands } from '../docs/commands';
import { readPage } from '../docs/markdown';
import { requireGoPrograms } from './rig/go-program';
import { projectRoot } from './rig/project-root';

const run = promisify(execFile);

jest.setTimeout(300_000);

const krew = requireGoPrograms('krew');
const kubernetes = requireGoPrograms('kubernetes');
const define = krew.programs === '' ? krew.define : kubernetes.define;

define('the plugin of a release, installed by the real krew', () => {
  let folder: string;
  let server: Server;
  let env: NodeJS.ProcessEnv;
  const asked: string[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'krew-'));
    const release = join(folder, 'release');
    server = createServer(({ url = '' }, answer) => {
      asked.push(url);
      answer.end(readFileSync(join(release, basename(url))));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/0.1.0`;
    const options = ['--this-node', '--allow-dirty', '--only', 'krew', '--download-url', address, '--out', release];
    const at = { ...process.env, SOURCE_DATE_EPOCH: '1' }; // without it, the time of the last commit
    await run(process.execPath, [join(projectRoot(), 'scripts/release.mjs'), ...options], { env: at });

    const bin = join(folder, 'bin');
    mkdirSync(bin);
    symlinkSync(join(kubernetes.programs, 'kubectl'), join(bin, 'kubectl'));
    symlinkSync(join(krew.programs, 'krew'), join(bin, 'kubectl-krew'));
    const root = join(folder, 'root');
    const path = [join(root, 'bin'), bin, dirname(process.execPath), process.env['PATH']].join(delimiter);
    env = { HOME: folder, KREW_ROOT: root, PATH: path };
  });
  afterAll(async () => {
    server?.close();
    await once(server, 'close');
    rmSync(folder, { recursive: true });
  });

  const kubectl = async (...args: string[]): Promise<string> =>
    (await run('kubectl', args, { env, cwd: join(folder, 'release') })).stdout;

  test('the command of docs/release.md fetches the archive and installs it; kubectl then has the plugin, and completes it', async () => {
    const commands = listCommands('docs/release.md', readPage('release.md')).map(({ words }) => words);
    const [install, ...others] = commands.filter(([program, plugin]) => program === 'kubectl' && plugin === 'krew');
    expect(others).toEqual([]);
    await kubectl(...install!.slice(1));
    expect(asked).toEqual([expect.stringMatching(/^\/0\.1\.0\/kubectl-cpuset-[\d.]+\.tar\.gz$/)]);
    expect(await kubectl('cpuset', '--help')).toContain('Usage: kubectl cpuset');
    const [store = ''] = readdirSync(join(folder, 'root/store/cpuset'));
    expect(readdirSync(join(folder, 'root/store/cpuset', store)).sort()).toEqual([
      ...['LICENSE', 'NOTICES.txt', 'kubectl-cpuset'],
    ]);

    const manifest = parse(readFileSync(join(folder, 'release/cpuset.yaml'), 'utf8')) as { spec: { caveats: string } };
    const { caveats } = manifest.spec;
    await run('sh', ['-c', caveats.slice(caveats.indexOf('ln -s'))], { env });
    expect(await kubectl('__complete', 'cpuset', 'n')).toMatch(/^nodes\t/m);
  });

  test('an archive that is given is installed without the network', async () => {
    asked.length = 0;
    const release = join(folder, 'release');
    const archive = readdirSync(release).find((name) => name.endsWith('.tar.gz'))!;
    const other = { ...env, KREW_ROOT: join(folder, 'other') };
    const args = ['krew', 'install', '--manifest=cpuset.yaml', `--archive=${archive}`];
    await run('kubectl', args, { env: other, cwd: release });
    const { stdout } = await run(join(folder, 'other/bin/kubectl-cpuset'), ['--help'], { env: other });
    expect(stdout).toContain('Usage: kubectl cpuset');
    expect(asked).toEqual([]);
  });
});
