import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { builtBundle } from '../../support/built-bundle';
import { PublishedProject } from '../../support/published-project';

const KINDS = ['image', 'chart', 'plugin', 'npm'] as const;
const TO = {
  image: ['--to', 'registry.example/group/cpusetd'],
  chart: ['--to', 'registry.example/charts'],
  plugin: ['--index', 'ssh://git@forge.example/index.git', '--upload-to', 'https://files.example/1.2.3'],
  npm: ['--registry', 'https://npm.example/'],
} as const;

let template: PublishedProject;
beforeAll(async () => {
  builtBundle();
  template = await PublishedProject.make();
  for (const name of ['crane', 'helm', 'curl'])
    template.addProgram(name, { script: 'echo "must not run" >&2; exit 1' });
  const put = (name: string, text: string): void => writeFileSync(join(template.home, name), text);
  mkdirSync(join(template.home, '.docker'));
  put('.docker/config.json', JSON.stringify({ auths: { 'registry.example': { auth: 'c2VjcmV0' } } }));
  put('.netrc', 'machine files.example login a password secret\n');
  put('.npmrc', '//npm.example/:_authToken=secret\n');
});
afterAll(() => template.remove());

/** A copy of the template that a test may change. */
let project: PublishedProject;
const useCopy = (): void => {
  beforeEach(() => void (project = template.copy()));
  afterEach(() => project.remove());
};

const fails = (stdout: string): string[] =>
  [...stdout.matchAll(/^ {2}FAIL {2}(.*)\n {8}remedy: (.*)$/gm)].map(([, what, remedy]) => `${what}: ${remedy}`);
const digestOf = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(join(template.release, name)))
    .digest('hex');

test.each`
  kind        | file                             | to
  ${'image'}  | ${'cpusetd-1.2.3-image.tar'}     | ${'registry.example/group/cpusetd:1.2.3'}
  ${'chart'}  | ${'cpusetd-1.2.3.tgz'}           | ${'oci://registry.example/charts/cpusetd:1.2.3'}
  ${'plugin'} | ${'kubectl-cpuset-1.2.3.tar.gz'} | ${'https://files.example/1.2.3/kubectl-cpuset-1.2.3.tar.gz'}
  ${'npm'}    | ${'cpusetd-1.2.3.tgz'}           | ${'https://npm.example/ as cpusetd@1.2.3, tag latest'}
`(
  '$kind: a dry run names the file, its size and digest and where it goes, and every check holds',
  async (row: { kind: (typeof KINDS)[number]; file: string; to: string }) => {
    const { kind, file, to } = row;
    const { status, stdout, stderr } = await template.publish(kind, ...TO[kind], '--dry-run');
    expect({ status, stderr, fails: fails(stdout) }).toEqual({ status: 0, stderr: '', fails: [] });
    expect(stdout).toContain(`publish ${kind}: this would be sent\n  ${file}: `);
    expect(stdout).toContain(`\n    to ${to}\n`);
    expect(stdout).toMatch(/\ndry run: nothing is sent\n$/);
    expect(stdout).not.toContain('secret');
    expect(stdout).toMatch(/^ {2}ok {4}the tag v1\.2\.3 is at this commit$/m);
    if (kind === 'chart' || kind === 'plugin') {
      const size = readFileSync(join(template.release, file)).length;
      expect(stdout).toContain(`${file}: ${size} bytes, sha256:${digestOf(file)}\n`);
    }
    if (kind === 'image')
      expect(stdout).toMatch(
        /image\.tar: \d+ bytes, index sha256:\w{64}\n.*\n {4}linux\/amd64: sha256:\w{64}\n {4}linux\/arm64: sha256:\w{64}\n/,
      );
    if (kind === 'npm')
      expect(stdout).toMatch(/bytes, sha512-\S+\n.*\n(?: {4}\S+: \d+ bytes\n)*? {4}dist\/cpusetd\.js: \d+ bytes\n/);
    expect(readdirSync(template.folder).filter((name) => name.startsWith('cpusetd-publish-'))).toEqual([]);
  },
);

/** A fault of the project, and the check that finds it. */
interface Fault {
  readonly what: string;
  readonly make: () => void | Promise<void>;
  readonly kinds: readonly (typeof KINDS)[number][];
  readonly want: RegExp;
}
const json = (edit: (manifest: Record<string, unknown>) => void) => (text: string) => {
  const manifest = JSON.parse(text) as Record<string, unknown>;
  edit(manifest);
  return JSON.stringify(manifest);
};
const faults: readonly Fault[] = [
  {
    what: 'a placeholder for the public address',
    make: async () => {
      project.change(
        'package.json',
        json((manifest) => (manifest['repository'] = { url: 'git+https://repository.invalid/cpusetd.git' })),
      );
      await project.commit();
      await project.writeRelease();
    },
    kinds: ['chart'],
    want: /^package\.json has the public address of the project: repository\.url is the placeholder https:\/\/repository\.invalid/,
  },
  {
    what: 'another address for faults',
    make: async () => {
      project.change(
        'package.json',
        json((manifest) => (manifest['bugs'] = { url: 'https://other.example' })),
      );
      await project.commit();
      await project.writeRelease();
    },
    kinds: ['chart'],
    want: /bugs\.url and homepage do not both begin with https:\/\/forge\.example\/group\/cpusetd/,
  },
  {
    what: 'no section in the changelog',
    make: async () => {
      project.change('CHANGELOG.md', () => '# Changelog\n\n## [Unreleased]\n');
      await project.commit();
      await project.writeRelease();
    },
    kinds: ['chart'],
    want: /^CHANGELOG\.md has a section for 1\.2\.3: .*## \[1\.2\.3\] - YYYY-MM-DD$/,
  },
  {
    what: 'a file that is not committed',
    make: () => project.change('new.txt', () => ''),
    kinds: ['chart'],
    want: /^everything is committed: commit or remove these files: new\.txt$/,
  },
  {
    what: 'a tag at another commit',
    make: async () => {
      await project.git('commit', '--quiet', '--allow-empty', '--message', 'later');
      await project.writeRelease();
    },
    kinds: ['chart'],
    want: /^the tag v1\.2\.3 is at this commit: git tag -a v1\.2\.3/,
  },
  {
    what: 'a release of another commit',
    make: async () => {
      await project.git('commit', '--quiet', '--allow-empty', '--message', 'later');
      await project.commit().catch(() => project.git('tag', '--force', 'v1.2.3'));
    },
    kinds: ['image'],
    want: /^the image for linux\/arm64 is 1\.2\.3 of this commit: it is 1\.2\.3 of \w{40}: check out that commit/,
  },
  {
    what: 'a lock file of another version',
    make: async () => {
      project.change('package-lock.json', () => '{"version":"1.2.2"}');
      await project.commit();
      await project.writeRelease();
    },
    kinds: ['chart'],
    want: /^package-lock\.json has the version 1\.2\.3: npm install/,
  },
  {
    what: 'a file that was changed after the release',
    make: () => writeFileSync(join(project.release, 'kubectl-cpuset-1.2.3.tar.gz'), 'something else'),
    kinds: ['image', 'chart', 'plugin'],
    want: /^the files of the release match SHA256SUMS: these differ: kubectl-cpuset-1\.2\.3\.tar\.gz;/,
  },
  {
    what: 'no release',
    make: () => readdirSync(project.release).forEach((name) => rmSync(join(project.release, name))),
    kinds: ['image', 'chart', 'plugin'],
    want: /release has a release: make the release again: npm run release/,
  },
  {
    what: 'no program that sends',
    make: () => ['crane', 'helm', 'curl'].forEach((name) => project.removeProgram(name)),
    kinds: ['image', 'chart', 'plugin'],
    want: /^(skopeo or crane|helm|curl) is installed: install/,
  },
  {
    what: 'no logins',
    make: () =>
      ['.docker', '.netrc', '.npmrc'].forEach((name) => rmSync(join(project.home, name), { recursive: true })),
    kinds: KINDS,
    want: /a (login|token) for (registry|files|https:\/\/npm)\b.*: (skopeo login|helm registry login|add a line: machine|npm login)/,
  },
  {
    what: 'an empty token',
    make: () => writeFileSync(join(project.home, '.npmrc'), '//npm.example/:_authToken=\n'),
    kinds: ['npm'],
    want: /has a token for https:\/\/npm\.example\/: npm login/,
  },
  {
    what: 'a token of a variable that is not set',
    make: () => writeFileSync(join(project.home, '.npmrc'), '//npm.example/:_authToken=${PUBLISH_TOKEN}\n'),
    kinds: ['npm'],
    want: /of the variable PUBLISH_TOKEN: set PUBLISH_TOKEN$/,
  },
  {
    what: 'a manifest with an address of no use',
    make: () => project.writeKrewManifest('https://files.invalid/'),
    kinds: ['plugin'],
    want: /^the manifest has an address that ends with kubectl-cpuset-1\.2\.3\.tar\.gz: it has https:\/\/files\.invalid/,
  },
  {
    what: 'a build of another version',
    make: () => writeFileSync(join(project.checkout, 'dist/cpusetd.js'), "console.log('1.2.2')"),
    kinds: ['npm'],
    want: /^dist\/cpusetd\.js is built, and says 1\.2\.3: npm run build; it says 1\.2\.2$/,
  },
];

describe('faults', () => {
  useCopy();
  test.each(faults)('$what: a dry run and a real run fail with the remedy', async ({ make, kinds, want }) => {
    await make();
    for (const kind of kinds)
      for (const args of kind === kinds[0] && kind !== 'npm' ? [['--dry-run'], []] : [['--dry-run']]) {
        const { status, stdout, stderr } = await project.publish(kind, ...TO[kind], ...args);
        expect({ kind, status, fails: fails(stdout) }).toEqual({
          kind,
          status: 1,
          fails: expect.arrayContaining([expect.stringMatching(want)]) as string[],
        });
        expect(stderr).toMatch(/checks failed; nothing is sent\n$/);
        expect(stderr).not.toContain('must not run');
      }
  });

  test.each(['1.2.3-dirty', '1.2.3-dev', '1.2', 'v1.2.3'])(
    'the version %s: it is none of a release',
    async (version) => {
      project.change(
        'package.json',
        json((manifest) => (manifest['version'] = version)),
      );
      const { status, stdout } = await project.publish('chart', ...TO.chart, '--dry-run');
      expect(status).toBe(1);
      expect(fails(stdout)).toEqual(
        expect.arrayContaining([expect.stringContaining(`${version} is the version of a release: set version`)]),
      );
    },
  );
});

test.each([
  ['image', [], '--to is missing: no address is built in'],
  ['chart', ['--to', 'oci://registry.example/x'], '--to oci://registry.example/x is no HOST/NAME of a registry'],
  ['chart', ['--to', 'registry.example/x:1'], 'is no HOST/NAME'],
  ['image', ['--to', 'group/cpusetd'], 'is no HOST/NAME'],
  ['plugin', [], '--index is missing'],
  [
    'plugin',
    ['--index', 'x', '--upload-to', 'files.example'],
    '--upload-to files.example is not the http or https address of a folder',
  ],
  ['npm', ['--registry', 'npm.example'], '--registry npm.example is no http or https address'],
  ['npm', ['--gone'], "Unknown option '--gone'"],
] as const)('%s %j: the option is refused with the rule', async (kind, args, want) => {
  const { status, stdout, stderr } = await template.publish(kind, ...args);
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(want) as string,
  });
});

describe('sending, to servers on loopback', () => {
  useCopy();
  let server: Server;
  let url: string;
  /** The bodies that were sent, by method and path. */
  const got = new Map<string, Buffer>();
  beforeEach(async () => {
    got.clear();
    server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const served = got.get(`PUT ${request.url}`);
        response.setHeader('connection', 'close');
        if (request.method === 'PUT') {
          got.set(`PUT ${request.url}`, Buffer.concat(parts));
          response.writeHead(201, { 'content-type': 'application/json' }).end('{"ok":true}');
        } else response.writeHead(served ? 200 : 404).end(served);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.close();
    await once(server, 'close');
  });

  test('npm: the registry gets the package of the dry run, which is not private and has no scripts', async () => {
    writeFileSync(join(project.home, '.npmrc'), `//${new URL(url).host}/:_authToken=secret\n`);
    const dry = await project.publish('npm', '--registry', url, '--dry-run');
    const { status, stdout, stderr } = await project.publish('npm', '--registry', url);
    expect({ status, fails: fails(stdout), stderr: stderr.replaceAll(/^npm notice.*\n/gm, '') }).toEqual({
      status: 0,
      fails: [],
      stderr: '',
    });
    expect([...got.keys()]).toEqual(['PUT /cpusetd']);
    const sent = JSON.parse(String(got.get('PUT /cpusetd'))) as {
      'dist-tags': object;
      versions: Record<string, Record<string, unknown> & { dist: { integrity: string } }>;
    };
    expect(sent['dist-tags']).toEqual({ latest: '1.2.3' });
    const { dist, ...manifest } = sent.versions['1.2.3']!;
    expect(dry.stdout).toContain(`bytes, ${dist.integrity}\n`);
    expect(Object.keys(manifest)).toEqual(
      expect.arrayContaining(['name', 'bin', 'exports', 'dependencies', 'repository']),
    );
    for (const name of ['private', 'scripts', 'devDependencies']) expect(manifest).not.toHaveProperty(name);
  });

  describe('the plugin', () => {
    let index: string;
    beforeEach(async () => {
      project.removeProgram('curl');
      if (!(await project.addHostProgram('curl'))) throw new Error('this test needs curl: apt-get install curl');
      index = join(project.folder, 'index.git');
      await project.git('init', '--quiet', '--bare', index);
      await project.git('push', '--quiet', index, 'HEAD:refs/heads/main');
      await project.git('--git-dir', index, 'symbolic-ref', 'HEAD', 'refs/heads/main');
      await project.writeKrewManifest(`${url}/1.2.3/`);
    });
    const publish = (...args: string[]) =>
      project.publish('plugin', '--index', `file://${index}`, '--plain-http', ...args);
    const branches = (): Promise<string> => project.git('--git-dir', index, 'branch', '--format', '%(refname:short)');

    test('the archive is at its address, and the manifest in a branch of the index', async () => {
      const { status, stderr } = await publish('--upload-to', `${url}/1.2.3`);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect([...got].map(([path, body]) => [path, String(body)])).toEqual([
        ['PUT /1.2.3/kubectl-cpuset-1.2.3.tar.gz', 'the plugin'],
      ]);
      const shown = await project.git('--git-dir', index, 'show', 'cpuset-v1.2.3:plugins/cpuset.yaml');
      expect(`${shown}\n`).toBe(readFileSync(join(project.release, 'cpuset.yaml'), 'utf8'));
    });

    test('an archive that is not at its address, or is another one: the index stays as it is', async () => {
      expect(await publish()).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('answers 404: send the archive there first') as string,
      });
      got.set('PUT /1.2.3/kubectl-cpuset-1.2.3.tar.gz', Buffer.from('another'));
      expect(await publish()).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('has another file than the release') as string,
      });
      expect(await branches()).toBe('main');
    });
  });
});
