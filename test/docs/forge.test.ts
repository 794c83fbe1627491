import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './markdown';

// The files for a forge and for editors, against the project.

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  readonly private: boolean;
  readonly engines: { readonly node: string };
  readonly repository: { readonly url: string };
  readonly bugs: { readonly url: string };
  readonly homepage: string;
};

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly if?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, { readonly permissions?: unknown; readonly steps: readonly Step[] }>>;
}

describe.each(readdirSync(join(ROOT, '.github/workflows')))('the workflow %s', (name) => {
  const workflow = parse(read(`.github/workflows/${name}`)) as Workflow;
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps);

  test('it may read the repository, and nothing else', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(jobs.filter(({ permissions }) => permissions !== undefined)).toEqual([]);
  });

  test('each action is pinned by its commit', () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  });

  test('it runs .ci/run, which may be executed, with the Node of .nvmrc, and uploads the logs when that fails', () => {
    const commands = steps.flatMap(({ run }) => run ?? []);
    expect(commands.filter((command) => / \.ci\/run$/.test(command))).toHaveLength(1);
    expect(() => accessSync(join(ROOT, '.ci/run'), constants.X_OK)).not.toThrow();
    expect(steps).toContainEqual(expect.objectContaining({ with: { 'node-version-file': '.nvmrc' } }));
    const [upload, ...others] = steps.filter(({ uses }) => uses?.startsWith('actions/upload-artifact@'));
    expect(others).toEqual([]);
    expect(upload).toMatchObject({ if: 'failure()', with: { path: 'test-logs', 'if-no-files-found': 'error' } });
    expect(read('scripts/test.mjs') + read('scripts/check.mjs')).toContain("'test-logs'");
  });
});

describe.each(readdirSync(join(ROOT, '.github/ISSUE_TEMPLATE')).filter((name) => name !== 'config.yml'))(
  'the form %s',
  (name) => {
    test('it has what a forge requires of a form', () => {
      const form = parse(read(`.github/ISSUE_TEMPLATE/${name}`)) as {
        readonly name: string;
        readonly description: string;
        readonly body: readonly { readonly type: string; readonly id?: string; readonly attributes: object }[];
      };
      expect([form.name, form.description]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
      const fields = form.body.filter(({ type }) => type !== 'markdown');
      const ids = fields.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const field of fields)
        expect(field).toMatchObject({
          type: expect.stringMatching(/^(input|textarea)$/) as string,
          id: expect.stringMatching(/^[a-z]+$/) as string,
          attributes: { label: expect.stringMatching(/./) as string },
        });
    });
  },
);

test('config.yml lets an issue be opened without a form', () => {
  expect(parse(read('.github/ISSUE_TEMPLATE/config.yml'))).toEqual({ blank_issues_enabled: true });
});

test('.nvmrc has the floor of the package', () => {
  expect(manifest.engines.node).toBe(`>=${read('.nvmrc').trim()}`);
});

test('the package is private, and all its addresses begin with that of the repository', () => {
  expect(manifest.private).toBe(true);
  const address = manifest.repository.url.replace(/^git\+(.*)\.git$/, '$1');
  expect(address).toMatch(/^https:\/\/[\w.-]+\/[\w./-]+$/);
  for (const url of [manifest.bugs.url, manifest.homepage]) expect(url.startsWith(address)).toBe(true);
});

test('reviewers are named when, and only when, the project has a public address', () => {
  const owners = read('.github/CODEOWNERS')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const isPlaceholder = new URL(manifest.repository.url.replace(/^git\+/, '')).hostname.endsWith('.invalid');
  expect(owners.some((line) => /^\* +@\w/.test(line))).toBe(!isPlaceholder);
});

test('launch.json starts jest with its projects', () => {
  const { configurations } = JSON.parse(read('.vscode/launch.json')) as {
    configurations: { readonly program?: string; readonly args?: readonly string[] }[];
  };
  const [test] = configurations.filter(({ args }) => args?.includes('${relativeFile}'));
  expect(existsSync(test!.program!.replace('${workspaceFolder}', ROOT))).toBe(true);
  for (const project of ['unit', 'conformance']) {
    expect(test!.args).toContain(project);
    expect(read('jest.config.js')).toContain(`displayName: '${project}'`);
  }
});

test('.editorconfig has the width of the formatter for code', () => {
  const { printWidth } = JSON.parse(read('.prettierrc.json')) as { printWidth: number };
  const [, ofAll = ''] = /^\[\*\]\n([^]*?)\n\n/m.exec(read('.editorconfig')) ?? [];
  expect(ofAll).toContain(`max_line_length = ${printWidth}`);
});
