import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../e2e/rig/project-root';

const run = promisify(execFile);

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

const VERSION = '1.2.3';
const ADDRESS = 'https://forge.example/group/cpusetd';

/** The programs that publishing needs besides those that a test adds. */
const COMMON = ['git', 'tar', 'mkdir', 'sh', 'npm', 'gzip'];

/**
 * A checkout that may be published: a tagged commit with a version, a changelog and an address, and a small release of
 * it. Programs are found in its folder `bin` only, and logins in its folder `home`.
 */
export class PublishedProject {
  readonly version = VERSION;
  readonly checkout: string;
  readonly release: string;
  readonly home: string;
  private readonly bin: string;

  private constructor(readonly folder: string) {
    const [checkout, release, home, bin] = ['checkout', 'release', 'home', 'bin'].map((name) => join(folder, name));
    [this.checkout, this.release, this.home, this.bin] = [checkout!, release!, home!, bin!];
  }

  static async make(): Promise<PublishedProject> {
    const project = new PublishedProject(mkdtempSync(join(tmpdir(), 'publish-')));
    for (const path of [project.checkout, project.release, project.home, project.bin]) mkdirSync(path);
    symlinkSync(process.execPath, join(project.bin, 'node'));
    for (const name of COMMON) await project.addHostProgram(name);
    project.copySources();
    await project.git('init', '--quiet');
    await project.commit();
    await project.writeRelease();
    return project;
  }

  /** A copy that a test may change. */
  copy(): PublishedProject {
    const project = new PublishedProject(mkdtempSync(join(tmpdir(), 'publish-')));
    cpSync(this.folder, project.folder, { recursive: true, verbatimSymlinks: true });
    return project;
  }

  /** Links a program of this machine, if it has it. */
  async addHostProgram(name: string): Promise<boolean> {
    const found = await run('sh', ['-c', 'command -v "$0"', name]).catch(() => undefined);
    if (found) symlinkSync(found.stdout.trim(), join(this.bin, name));
    return found !== undefined;
  }

  /** Links a program, or writes it as a script of the shell. */
  addProgram(name: string, program: { readonly path: string } | { readonly script: string }): void {
    rmSync(join(this.bin, name), { force: true });
    if ('path' in program) symlinkSync(program.path, join(this.bin, name));
    else writeFileSync(join(this.bin, name), `#!/bin/sh\n${program.script}\n`, { mode: 0o755 });
  }

  removeProgram(name: string): void {
    rmSync(join(this.bin, name), { force: true });
  }

  /** Changes a file of the checkout; the change is committed with `commit`. */
  change(path: string, edit: (text: string) => string): void {
    const file = join(this.checkout, path);
    writeFileSync(file, edit(existsSync(file) ? readFileSync(file, 'utf8') : ''));
  }

  /** Commits everything, and moves the tag there. */
  async commit(): Promise<void> {
    await this.git('add', '--all');
    await this.git('commit', '--quiet', '--message', 'all');
    await this.git('tag', '--force', `v${VERSION}`);
  }

  async git(...args: string[]): Promise<string> {
    return (await run('git', args, { cwd: this.checkout, env: this.env() })).stdout.trim();
  }

  /** Runs a script of scripts/publish. */
  async publish(what: 'image' | 'chart' | 'plugin' | 'npm', ...args: string[]): Promise<Outcome> {
    const script = join(this.checkout, `scripts/publish/${what}.mjs`);
    const release = what === 'npm' ? [] : ['--release', this.release];
    return run('node', [script, ...release, ...args], { cwd: this.folder, env: this.env() }).then(
      ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
      (error: unknown) => {
        const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
        return { status: code, stdout, stderr };
      },
    );
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  env(): NodeJS.ProcessEnv {
    const identity = { NAME: 'A', EMAIL: 'a@example.com' };
    return {
      PATH: this.bin,
      HOME: this.home,
      XDG_RUNTIME_DIR: this.home,
      TMPDIR: this.folder,
      npm_config_cache: join(this.folder, 'npm-cache'),
      npm_config_update_notifier: 'false',
      ...Object.fromEntries(
        ['AUTHOR', 'COMMITTER'].flatMap((who) =>
          Object.entries(identity).map(([key, value]) => [`GIT_${who}_${key}`, value]),
        ),
      ),
    };
  }

  private copySources(): void {
    const from = projectRoot();
    for (const path of [
      'scripts/publish',
      'scripts/release',
      'scripts/shared',
      'examples',
      'docs/write-an-nri-plugin.md',
      '.gitignore',
      'LICENSE',
      'README.md',
      'dist',
    ]) {
      mkdirSync(dirname(join(this.checkout, path)), { recursive: true });
      cpSync(join(from, path), join(this.checkout, path), {
        recursive: true,
        verbatimSymlinks: true,
        filter: (name) => !/dist\/(?!cpusetd\.js|lib|NOTICES)[^/]+$/.test(name),
      });
    }
    symlinkSync(join(from, 'node_modules'), join(this.checkout, 'node_modules'));
    this.change('.gitignore', (text) => `${text}/node_modules\n`);
    const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Record<string, unknown>;
    const own = {
      version: VERSION,
      repository: { type: 'git', url: `git+${ADDRESS}.git` },
      bugs: { url: `${ADDRESS}/issues` },
      homepage: `${ADDRESS}#readme`,
    };
    this.change('package.json', () => JSON.stringify({ ...manifest, ...own }));
    this.change('package-lock.json', () => JSON.stringify({ version: VERSION }));
    this.change(
      'CHANGELOG.md',
      () => `# Changelog\n\n## [Unreleased]\n\n## [${VERSION}] - 2026-12-01\n\n- A change.\n`,
    );
    // The version of a build is in it.
    this.change('dist/cpusetd.js', () => `if (process.argv[2] === '--version') console.log('${VERSION}');\n`);
  }

  /** Writes the files of a release that are published, and SHA256SUMS. */
  async writeRelease(): Promise<void> {
    const work = join(this.folder, 'work');
    rmSync(work, { recursive: true, force: true });
    mkdirSync(join(work, 'chart/cpusetd'), { recursive: true });
    const head = await this.git('rev-parse', 'HEAD');
    writeFileSync(
      join(work, 'chart/cpusetd/Chart.yaml'),
      `apiVersion: v2\nname: cpusetd\nversion: ${VERSION}\nappVersion: ${VERSION}\n`,
    );
    await run('tar', ['-czf', join(this.release, `cpusetd-${VERSION}.tgz`), '-C', join(work, 'chart'), 'cpusetd']);
    writeLayout(join(work, 'image'), head);
    await run('tar', [
      '-cf',
      join(this.release, `cpusetd-${VERSION}-image.tar`),
      '-C',
      join(work, 'image'),
      'oci-layout',
      'index.json',
      'blobs',
    ]);
    writeFileSync(join(this.release, `kubectl-cpuset-${VERSION}.tar.gz`), 'the plugin');
    await this.writeKrewManifest('https://files.example/1.2.3/');
  }

  /** Writes the manifest for krew as a release does, with this address. */
  async writeKrewManifest(downloadUrl: string): Promise<void> {
    const module = JSON.stringify(join(this.checkout, 'scripts/release/krew.mjs'));
    const archive = `kubectl-cpuset-${VERSION}.tar.gz`;
    const code = `import { readFileSync } from 'node:fs'; import { formatKrewManifest } from ${module};
      process.stdout.write(formatKrewManifest('${VERSION}', readFileSync('${archive}'), '${downloadUrl}'));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: this.release });
    writeFileSync(join(this.release, 'cpuset.yaml'), stdout);
    await run('sh', ['-c', 'rm -f SHA256SUMS; sha256sum * > SHA256SUMS'], { cwd: this.release });
  }
}

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

/** The layout of an image for two architectures, with one small layer, as a release has it: an index in the index. */
function writeLayout(folder: string, revision: string): void {
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
  const type = (kind: string): string => `application/vnd.oci.image.${kind}`;
  const put = (content: Buffer | string, mediaType: string): object => {
    writeFileSync(join(folder, 'blobs/sha256', sha256(content)), content);
    return { mediaType, digest: `sha256:${sha256(content)}`, size: Buffer.byteLength(content) };
  };
  const layerBytes = Buffer.alloc(1024); // The end of a tar: no file.
  const layer = put(layerBytes, type('layer.v1.tar'));
  const manifests = ['amd64', 'arm64'].map((architecture) => {
    const platform = { architecture, os: 'linux' };
    const labels = { 'org.opencontainers.image.version': VERSION, 'org.opencontainers.image.revision': revision };
    const rootfs = { type: 'layers', diff_ids: [`sha256:${sha256(layerBytes)}`] };
    const config = put(JSON.stringify({ ...platform, config: { Labels: labels }, rootfs }), type('config.v1+json'));
    const manifest = { schemaVersion: 2, mediaType: type('manifest.v1+json'), config, layers: [layer] };
    return { ...put(JSON.stringify(manifest), type('manifest.v1+json')), platform };
  });
  const common = { schemaVersion: 2, mediaType: type('index.v1+json') };
  const index = put(JSON.stringify({ ...common, manifests }), type('index.v1+json'));
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ ...common, manifests: [index] }));
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}
