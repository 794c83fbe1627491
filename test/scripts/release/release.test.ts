import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { listScripts } from '../../docs/commands';
import { readPage } from '../../docs/markdown';
import { playBlock } from '../../docs/play-block';

const run = promisify(execFile);
const ROOT = join(__dirname, '../../..');
const EPOCH = 1_790_000_000;
const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};
const dropIn = 'kubelet.service.d/10-cpusetd.conf';
const [tarball, deb, sbom] = [`cpusetd-${version}.tar.gz`, `cpusetd_${version}_all.deb`, `cpusetd-${version}.cdx.json`];
const [krewArchive, krewManifest] = [`kubectl-cpuset-${version}.tar.gz`, 'cpuset.yaml'];
const chart = `cpusetd-${version}.tgz`;
const files = [sbom, tarball, deb, krewArchive, krewManifest, chart];
const downloadUrl = 'https://downloads.invalid/releases/1';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'cpusetd-release-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface KrewManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly spec: {
    readonly version: string;
    readonly shortDescription: string;
    readonly description: string;
    readonly caveats: string;
    readonly platforms: readonly {
      readonly bin: string;
      readonly files: readonly { readonly from: string; readonly to: string }[];
    }[];
  };
}

/** Copies the files of the project to a folder. Their times are given, in seconds. */
async function checkOut(name: string, time: number): Promise<string> {
  const copy = join(folder, name);
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  const parts = /^(scripts|src|gen|deploy|docs|package|LICENSE|CHANGELOG|SECURITY|tsconfig|\.gitignore)/;
  for (const file of stdout.split('\0').filter((each) => parts.test(each))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file));
    utimesSync(join(copy, file), time, time);
  }
  // Linked where that goes: the folders may be on two file systems.
  const link = 'cp -rl "$0" "$1" 2> /dev/null || { rm -rf "$1" && cp -r "$0" "$1"; }';
  await run('sh', ['-c', link, join(ROOT, 'node_modules'), join(copy, 'node_modules')]);
  return copy;
}

interface ReleaseOptions {
  readonly umask: string;
  readonly epoch?: number;
  readonly args: string;
}

/** Makes a release without the image, which takes a network. */
async function release(checkout: string, { umask, epoch, args }: ReleaseOptions): Promise<string> {
  const { SOURCE_DATE_EPOCH: _epoch, ...rest } = process.env;
  const env = { ...rest, ...(epoch !== undefined && { SOURCE_DATE_EPOCH: String(epoch) }) };
  const options = `--this-node --only tarball,deb,krew,chart --out out --download-url ${downloadUrl} ${args}`;
  const command = `umask ${umask}; exec "$0" scripts/release.mjs ${options}`;
  await run('sh', ['-c', command, process.execPath], { cwd: checkout, env });
  return join(checkout, 'out');
}

const commit = (checkout: string) =>
  run('sh', ['-c', 'git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm all'], {
    cwd: checkout,
    env: { ...process.env, GIT_COMMITTER_DATE: `${EPOCH} +0200`, GIT_AUTHOR_DATE: `${EPOCH} +0200` },
  });

const readAll = (out: string): [string, string][] =>
  readdirSync(out)
    .sort()
    .map((name) => [name, readFileSync(join(out, name), 'base64')]);

describe('two releases of one commit, in folders of other names, with another umask and other times of files', () => {
  let out: string;
  let second: string;
  let unpacked: string;
  beforeAll(async () => {
    const checkout = await checkOut('one', EPOCH - 1000);
    await commit(checkout);
    out = await release(checkout, { umask: '022', args: '' });
    const other = await checkOut('another-of-two', EPOCH + 1000);
    second = await release(other, { umask: '077', epoch: EPOCH, args: '--allow-dirty' });
    unpacked = join(folder, 'unpacked');
    mkdirSync(unpacked);
    await run('tar', ['-xzf', join(out, tarball), '-C', unpacked, '--strip-components=1']);
    await run('dpkg-deb', ['-x', join(out, deb), join(folder, 'package')]);
  });

  test('they are the same, bit by bit', () => {
    expect(readdirSync(out).sort()).toEqual(['SHA256SUMS', ...files].sort());
    expect(readAll(second)).toEqual(readAll(out));
  });

  test('docs/release.md lists these files, and beside them those of the image', () => {
    const [, table = ''] = readPage('release.md').split('\n| file | content |\n|---|---|\n');
    const rows = table.split('\n\n')[0]!.split('\n');
    const names = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
    const listed = names.map((name) => name.replace('VERSION', version));
    const image = ['.tar', '-amd64.cdx.json', '-arm64.cdx.json'].map((end) => `cpusetd-${version}-image${end}`);
    expect(listed.sort()).toEqual([...readdirSync(out), ...image].sort());
  });

  test('the commands of docs/release.md install from the tarball, and check the release', () => {
    const [stage, downloaded] = ['stage', 'downloaded'].map((name) => join(folder, name)) as [string, string];
    mkdirSync(stage);
    cpSync(out, downloaded, { recursive: true });
    const scripts = listScripts(readPage('release.md')).filter((script) => /^tar -xzf|^sha256sum/.test(script));
    const calls = scripts.flatMap((script) => playBlock(script, { cwd: downloaded, stage }));
    expect(calls).toEqual(['cpusetd check', 'systemctl daemon-reload', 'systemctl enable --now cpusetd']);
    const [installed, units] = ['usr/local/bin/cpusetd', 'etc/systemd/system'].map((path) => join(stage, path));
    expect(execFileSync(installed!, ['--version'], { encoding: 'utf8' })).toBe(`${version}\n`);
    expect(existsSync(join(units!, 'cpusetd.service'))).toBe(true);
    expect(existsSync(join(units!, dropIn))).toBe(true);
    expect(existsSync(join(stage, 'etc/cpusetd.yaml'))).toBe(true);

    expect(readPage('release.md')).toContain('`cp -d bin/* /usr/local/bin/`');
    playBlock('cp -d bin/* /usr/local/bin/', { cwd: unpacked, stage });
    const help = execFileSync(join(stage, 'usr/local/bin/kubectl-cpuset'), ['--help'], { encoding: 'utf8' });
    expect(help).toContain('Usage: kubectl cpuset');
  });

  test('the checksums are right, of all files', async () => {
    const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out });
    expect(stdout.trim().split('\n').sort()).toEqual(files.map((name) => `${name}: OK`).sort());
  });

  describe('the plugin for krew', () => {
    const readManifest = () => parse(readFileSync(join(out, krewManifest), 'utf8')) as KrewManifest;

    test('the manifest has what krew requires, and the address and the checksum of the archive', async () => {
      const { stdout } = await run('sha256sum', [join(out, krewArchive)]);
      const { spec, ...rest } = readManifest();
      expect(rest).toEqual({
        apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
        kind: 'Plugin',
        metadata: { name: basename(krewManifest, '.yaml') },
      });
      const { description, caveats, shortDescription, platforms, ...others } = spec;
      expect(others).toEqual({ version: `v${version}` });
      // Longer lines are ones that krew's own check of a manifest complains about.
      const lines = [...description.split('\n'), ...caveats.split('\n')].map(({ length }) => length);
      expect(Math.max(...lines)).toBeLessThanOrEqual(80);
      expect(shortDescription).toMatch(/^.{1,70}$/);
      expect(platforms).toEqual([
        {
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }] },
          uri: `${downloadUrl}/${krewArchive}`,
          sha256: stdout.split(' ')[0],
          bin: 'kubectl-cpuset',
          files: expect.any(Array) as unknown,
        },
      ]);
    });
  });

  test('the program runs where nothing else is, and says its version', async () => {
    const alone = join(folder, 'alone');
    cpSync(join(unpacked, 'bin/cpusetd'), alone);
    expect(execFileSync(alone, ['--version'], { encoding: 'utf8' })).toBe(`${version}\n`);
    expect(readFileSync(join(folder, 'package/usr/bin/cpusetd'))).toEqual(readFileSync(alone));
  });

  test.each(['unpacked/bin', 'package/usr/bin'])(
    'the plugin for kubectl is in %s, under its name, and its completion',
    (place) => {
      const help = execFileSync(join(folder, place, 'kubectl-cpuset'), ['--help'], { encoding: 'utf8' });
      expect(help).toContain('Usage: kubectl cpuset');
      const answer = execFileSync(join(folder, place, 'kubectl_complete-cpuset'), ['node'], { encoding: 'utf8' });
      expect(answer).toMatch(/^nodes\t.*\n:4\n$/);
    },
  );

  test.each([
    ['the tarball', 'unpacked/lib/systemd/system', '/usr/local/bin/cpusetd', [dropIn]],
    ['the Debian package', 'package/usr/lib/systemd/system', '/usr/bin/cpusetd', []],
    ['the examples of the Debian package', 'package/usr/share/doc/cpusetd/examples', '/usr/bin/cpusetd', [dropIn]],
  ])('the units of %s are those of deploy, and start the program where it is', (what, place, program, more) => {
    const found = readdirSync(join(folder, place), { recursive: true, encoding: 'utf8' });
    const units = found.filter((name) => statSync(join(folder, place, name)).isFile()).sort();
    const services = ['cpusetd-cri-proxy.service', 'cpusetd-cri-proxy.socket', 'cpusetd.service'];
    expect(units).toEqual([...(what.startsWith('the examples') ? [] : services), ...more]);
    for (const unit of units) {
      const [, body = ''] = readFileSync(join(ROOT, 'deploy', unit), 'utf8').split(/^(?=\[Unit\])/m);
      const expected = body.replaceAll('/usr/local/bin/cpusetd', program);
      expect(readFileSync(join(folder, place, unit), 'utf8')).toBe(expected);
    }
  });

  test('man page and completions are what the program prints', async () => {
    const print = (...args: string[]) => execFileSync(join(unpacked, 'bin/cpusetd'), args, { encoding: 'utf8' });
    const read = (name: string) => readFileSync(join(unpacked, 'share', name), 'utf8');
    expect(read('man/man8/cpusetd.8')).toBe(print('man'));
    expect(read('bash-completion/completions/cpusetd')).toBe(print('completion', 'bash'));
    expect(read('zsh/site-functions/_cpusetd')).toBe(print('completion', 'zsh'));
    expect(read('fish/vendor_completions.d/cpusetd.fish')).toBe(print('completion', 'fish'));
  });

  test('the bill of materials has every dependency; each package has its licence and its terms in the notices', () => {
    const { components } = JSON.parse(readFileSync(join(out, sbom), 'utf8')) as {
      components: { name: string; version: string; licenses: { license?: { id: string }; expression?: string }[] }[];
    };
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    const notices = readFileSync(join(unpacked, 'NOTICES.txt'), 'utf8');
    const [list = '', ...texts] = notices.split(`${'-'.repeat(80)}\n`);
    for (const { name, version } of components) {
      expect(list).toMatch(new RegExp(`^${name} ${version} `, 'm'));
      const [terms = ''] = texts.filter((text) => `\n${text.split('\n\n')[0]!}\n`.includes(`\n${name} ${version}\n`));
      expect([name, terms]).toEqual([name, expect.stringMatching(/copyright|Apache License/i)]);
    }
    // Another licence is one that somebody has to read first.
    const licences = components.map(({ licenses: [first] }) => first?.license?.id ?? first?.expression);
    expect([...new Set(licences)].sort()).toEqual([
      '(Apache-2.0 AND BSD-3-Clause)',
      'Apache-2.0',
      'BSD-3-Clause',
      'ISC',
      'MIT',
    ]);
  });

  test('a file that is not committed: no release, and the reason names it', async () => {
    const checkout = dirname(out);
    writeFileSync(join(checkout, 'src/new.ts'), '');
    await expect(release(checkout, { umask: '022', args: '' })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the tree is not clean[^]*src\/new\.ts/) as string,
    });
  });

  test('a folder with something else in it stays as it is', async () => {
    const checkout = dirname(second);
    rmSync(join(second, 'SHA256SUMS'));
    await expect(release(checkout, { umask: '022', args: '--allow-dirty' })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has something else than a release/) as string,
    });
    expect(readdirSync(second)).toContain(tarball);
  });
});

test('without an address krew has no manifest, and the release says why', async () => {
  const out = join(folder, 'no-address');
  const args = ['scripts/release.mjs', '--this-node', '--only', 'krew', '--allow-dirty', '--out', out];
  const { stderr } = await run(process.execPath, args, { cwd: ROOT });
  expect(readdirSync(out).sort()).toEqual(['SHA256SUMS', sbom, krewArchive].sort());
  expect(stderr).toMatch(/^release: bundling the program.*\nrelease: making the archive of the plugin \.\.\.$/m);
  expect(stderr).toMatch(/cpuset\.yaml is not written: .*--download-url is not given/);
});

test.each(['downloads.invalid/1', 'ftp://downloads.invalid/1', 'https://downloads.invalid/?release=1'])(
  'the address %s is none of a folder: no release',
  async (address) => {
    const args = ['scripts/release.mjs', '--this-node', '--allow-dirty', '--download-url', address];
    await expect(run(process.execPath, args, { cwd: ROOT })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`--download-url: ${address} is not the http or https address`) as string,
    });
  },
);

test('a version before another: Debian has it before that too', async () => {
  const module = JSON.stringify(join(ROOT, 'scripts/release/debian-package.mjs'));
  const print = `import { debianName } from ${module}; console.log(debianName('1.0.0-rc.1'), debianName('1.0.0'));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', print]);
  expect(stdout).toBe('cpusetd_1.0.0~rc.1_all.deb cpusetd_1.0.0_all.deb\n');
});
