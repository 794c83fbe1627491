import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  closeSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defineAsRoot } from '../support/not-run';
import { projectRoot } from './rig/project-root';

jest.setTimeout(300_000);

const run = promisify(execFile);

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string };
}

interface ImageConfig {
  readonly architecture: string;
  readonly config: Readonly<Record<string, unknown>> & { readonly Env: readonly string[] };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

/** The number of an architecture in the head of a program, as ELF has it. */
const machines: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };
const here = process.arch === 'arm64' ? 'arm64' : 'amd64';

// A chroot takes root, and the files of the image belong to it.
defineAsRoot(() => {
  describe('the image of a release', () => {
    let folder: string;
    let layout: string;
    const configs = new Map<string, ImageConfig>();
    const root = (arch: string): string => join(folder, arch);

    const blob = (digest: string): string => join(layout, 'blobs', digest.replace(':', '/'));
    const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
    const build = (name: string, umask: string) => {
      const script = join(projectRoot(), 'scripts/cluster/image.mjs');
      const command = `umask ${umask}; exec "$0" ${script} ${name} amd64 arm64`;
      return run('sh', ['-c', command, process.execPath], { cwd: folder });
    };

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'cpusetd-image-'));
      layout = join(folder, 'layout');
      await build('image.tar', '022');
      mkdirSync(layout);
      await run('tar', ['-xf', join(folder, 'image.tar'), '-C', layout]);
      const top = readJson(join(layout, 'index.json')) as { manifests: Descriptor[] };
      const { manifests } = readJson(blob(top.manifests[0]!.digest)) as { manifests: Descriptor[] };
      for (const { digest, platform } of manifests) {
        const { architecture } = platform!;
        const manifest = readJson(blob(digest)) as { config: Descriptor; layers: Descriptor[] };
        configs.set(architecture, readJson(blob(manifest.config.digest)) as ImageConfig);
        mkdirSync(root(architecture));
        for (const layer of manifest.layers) await run('tar', ['-xf', blob(layer.digest), '-C', root(architecture)]);
      }
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test('a second one, with another umask, is the same bit by bit', async () => {
      await build('again.tar', '077');
      await run('cmp', [join(folder, 'image.tar'), join(folder, 'again.tar')]);
    });

    test('each blob has the digest of its name; each architecture has its layers', () => {
      const names = readdirSync(join(layout, 'blobs/sha256'));
      for (const name of names)
        expect(
          createHash('sha256')
            .update(readFileSync(blob(`sha256:${name}`)))
            .digest('hex'),
        ).toBe(name);
      expect([...configs.keys()]).toEqual(['amd64', 'arm64']);
      for (const { rootfs } of configs.values())
        expect(names).toEqual(expect.arrayContaining(rootfs.diff_ids.map((id) => id.slice('sha256:'.length))));
    });

    test('its settings are those of the Dockerfile, and so is its Node', () => {
      const dockerfile = readFileSync(join(projectRoot(), 'Dockerfile'), 'utf8');
      const { config } = configs.get(here)!;
      expect(dockerfile).toContain(`\nENTRYPOINT ${JSON.stringify(config['Entrypoint'])}\n`);
      expect(dockerfile).toContain(`\nCMD ${JSON.stringify(config['Cmd'])}\n`);
      const [path, ...env] = config.Env;
      expect(path).toMatch(/^PATH=.*:\/usr\/local\/bin:/);
      expect(dockerfile).toContain(`\nENV ${env.join(' ')}\n`);
      const labels = config['Labels'] as Readonly<Record<string, string>>;
      const named = [...dockerfile.matchAll(/(org\.opencontainers\.image\.\w+)="(.*?)"/g)];
      expect(named.length).toBeGreaterThan(1);
      for (const [, name, value] of named) expect([name, labels[name!]]).toEqual([name, value]);
      const { version } = readJson(join(projectRoot(), 'package.json')) as { version: string };
      expect(labels['org.opencontainers.image.version']).toBe(version);
    });

    test('programs and libraries are for their architecture, and both have the same', () => {
      const [amd64, arm64] = ['amd64', 'arm64'].map((arch) => {
        const names = readdirSync(root(arch), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name).slice(root(arch).length));
        const programs = names.filter((name) => isElf(join(root(arch), name)));
        for (const name of programs) expect([name, machineOf(join(root(arch), name))]).toEqual([name, machines[arch]]);
        return programs
          .map((name) => name.replace(/(x86_64|aarch64)-linux-gnu/, '*').replace(/ld-linux.*/, 'ld'))
          .sort();
      });
      expect(arm64).toEqual(amd64);
      expect(amd64).toEqual(
        expect.arrayContaining(['/usr/bin/flock', '/usr/bin/env', '/usr/bin/dash', '/usr/local/bin/node']),
      );
    });

    test('the program runs in it, on a Node with long-term support, as root and as a user without rights', async () => {
      const { version } = readJson(join(projectRoot(), 'package.json')) as { version: string };
      const inside = async (user: string, ...command: string[]) => {
        const args = [`--userspec=${user}`, root(here), ...command];
        return (
          await run('chroot', args, { env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } })
        ).stdout.trim();
      };
      for (const user of ['0:0', '65532:65532'])
        expect([user, await inside(user, '/usr/local/bin/cpusetd', '--version')]).toEqual([user, version]);
      expect(await inside('0:0', 'node', '--print', 'typeof process.release.lts')).toBe('string');
      const dockerfile = readFileSync(join(projectRoot(), 'Dockerfile'), 'utf8');
      const node = await inside('0:0', 'node', '--print', 'process.versions.node');
      expect(dockerfile).toContain(`\nFROM node:${node}-trixie-slim AS build\n`);
    });

    test('the locks work in it: the program finds flock', async () => {
      const command = ['sh', '-c', 'flock --nonblock /tmp/lock flock --nonblock /tmp/lock true || echo locked'];
      const { stdout } = await run('chroot', [root(here), ...command], {
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      });
      expect(stdout).toBe('locked\n');
    });

    test('it has the terms of all that is in it', () => {
      const packages = readdirSync(join(root(here), 'var/lib/dpkg/status.d'));
      expect(packages.length).toBeGreaterThan(5);
      const doc = join(root(here), 'usr/share/doc');
      // The copyright of GCC's libraries is that of the package that they are built with.
      const termsOf = (name: string): string => (/^lib(gcc|stdc)/.test(name) ? 'gcc-14-base' : name);
      for (const name of packages)
        expect([name, existsSync(join(doc, termsOf(name), 'copyright'))]).toEqual([name, true]);
      for (const name of ['node/LICENSE', 'cpusetd/LICENSE', 'cpusetd/NOTICES.txt', 'cpusetd/sbom.cdx.json'])
        expect([name, existsSync(join(doc, name))]).toEqual([name, true]);
    });
  });
});

function readHead(path: string): Buffer {
  const head = Buffer.alloc(20);
  const file = openSync(path, 'r');
  readSync(file, head);
  closeSync(file);
  return head;
}

const isElf = (path: string): boolean => readHead(path).subarray(0, 4).toString('latin1') === '\x7fELF';
const machineOf = (path: string): number => readHead(path).readUInt16LE(18);
