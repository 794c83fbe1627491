import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { builtBundle } from '../support/built-bundle';
import { defineWithPrerequisite } from '../support/not-run';
import { PublishedProject } from '../support/published-project';
import { findFreePort, waitUntil } from './rig';
import { requireGoPrograms } from './rig/go-program';
import { projectRoot } from './rig/project-root';

const run = promisify(execFile);

jest.setTimeout(300_000);

const crane = requireGoPrograms('crane');
const helm = requireGoPrograms('helm');
const skopeo = findSkopeo();
const define = crane.programs === '' ? crane.define : helm.define;

/** The skopeo of Debian sid, run by the loader and with the libraries of its root. A fresh root has no policy file. */
function findSkopeo(): { readonly obstacle: string | undefined; readonly script: string } {
  const build = [join(projectRoot(), 'scripts/runtime/debian-root.mjs'), 'sid'];
  const { status, stdout, stderr } = spawnSync(process.execPath, build, { encoding: 'utf8' });
  if (status !== 0) return { obstacle: stderr.trim().split('\n').at(-1) ?? 'no Debian root', script: '' };
  const root = stdout.trim();
  const [loader, libraries] =
    process.arch === 'arm64'
      ? ['lib/ld-linux-aarch64.so.1', 'aarch64-linux-gnu']
      : ['lib64/ld-linux-x86-64.so.2', 'x86_64-linux-gnu'];
  const command = [
    join(root, loader),
    '--library-path',
    join(root, 'usr/lib', libraries),
    join(root, 'usr/bin/skopeo'),
  ];
  return { obstacle: undefined, script: `exec ${command.map((word) => `'${word}'`).join(' ')} --insecure-policy "$@"` };
}

define('publishing to a registry on loopback, which crane serves', () => {
  let project: PublishedProject;
  let registry: ChildProcess;
  let host: string;
  beforeAll(async () => {
    builtBundle();
    project = await PublishedProject.make();
    project.addProgram('crane', { path: join(crane.programs, 'crane') });
    project.addProgram('helm', { path: join(helm.programs, 'helm') });
    host = `127.0.0.1:${await findFreePort()}`;
    registry = spawn(join(crane.programs, 'crane'), ['registry', 'serve', '--address', host], { stdio: 'ignore' });
    const answers = (): Promise<boolean> =>
      fetch(`http://${host}/v2/`, { headers: { connection: 'close' } }).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitUntil('the registry answers', answers);
  });
  afterAll(async () => {
    if (registry.kill()) await once(registry, 'exit');
    project.remove();
  });

  /** Asks the registry. Gives its standard output. */
  const ask = async (program: string, ...args: string[]): Promise<string> =>
    (await run(program, args, { env: project.env(), cwd: project.folder })).stdout.trim();

  defineWithPrerequisite(skopeo.obstacle, () => {
    test('the image, with the skopeo of Debian: the registry has the digest of the dry run', async () => {
      project.addProgram('skopeo', { script: skopeo.script });
      const args = ['--to', `${host}/other/cpusetd`, '--plain-http'];
      const dry = await project.publish('image', ...args, '--dry-run');
      const { status, stdout } = await project.publish('image', ...args);
      project.removeProgram('skopeo');
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\nsent\n$/) as string });
      expect(dry.stdout).toContain('\n  skopeo copy --all ');
      expect(dry.stdout).toContain(`bytes, index ${await ask('crane', 'digest', `${host}/other/cpusetd:1.2.3`)}\n`);
    });
  });

  test('the image, with crane: its tag is the version, its digest that of the dry run; both architectures are there', async () => {
    const args = ['--to', `${host}/group/cpusetd`, '--plain-http'];
    const dry = await project.publish('image', ...args, '--dry-run');
    expect(await ask('crane', 'catalog', host)).not.toContain('group/cpusetd');
    expect(await project.publish('image', ...args)).toMatchObject({ status: 0 });
    const digest = await ask('crane', 'digest', `${host}/group/cpusetd:1.2.3`);
    expect(dry.stdout).toContain(`bytes, index ${digest}\n`);
    const { manifests } = JSON.parse(await ask('crane', 'manifest', `${host}/group/cpusetd:1.2.3`)) as {
      manifests: { digest: string; platform: { architecture: string } }[];
    };
    expect(manifests.map(({ platform }) => platform.architecture)).toEqual(['amd64', 'arm64']);
    for (const each of manifests) {
      expect(dry.stdout).toContain(`linux/${each.platform.architecture}: ${each.digest}\n`);
      const config = await ask('crane', 'config', `${host}/group/cpusetd@${each.digest}`);
      expect(JSON.parse(config)).toMatchObject({ architecture: each.platform.architecture });
    }
  });

  test('the chart: helm pulls the same bytes', async () => {
    expect(await project.publish('chart', '--to', `${host}/charts`, '--plain-http')).toMatchObject({ status: 0 });
    mkdirSync(join(project.folder, 'pulled'));
    await ask('helm', 'pull', `oci://${host}/charts/cpusetd`, '--plain-http', '--destination', 'pulled');
    const [pulled, made] = [join(project.folder, 'pulled'), project.release].map((folder) =>
      readFileSync(join(folder, 'cpusetd-1.2.3.tgz')),
    );
    expect(pulled).toEqual(made);
  });

  test.each(['image', 'chart'] as const)(
    '%s: nobody serves the address: the status is 1, with the message of the program',
    async (kind) => {
      const to = `127.0.0.1:${await findFreePort()}/group/cpusetd`;
      const { status, stdout, stderr } = await project.publish(kind, '--to', to, '--plain-http');
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringMatching(/refused[^]*its message is above\n$/) as string,
      });
      expect(stdout).not.toMatch(/^sent$/m);
    },
  );
});
