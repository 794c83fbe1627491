import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadScript } from '../support/load-script';
import { ROOT } from './markdown';

jest.setTimeout(600_000);

interface Pages {
  readonly listPages: (root: string) => string[];
  readonly placeOf: (page: string) => string;
  readonly readMenu: (root: string) => { text: string; items: { text: string; link: string }[] }[];
}
interface Links {
  readonly readRepository: (root: string) => string | undefined;
  readonly toSiteLink: (
    href: string,
    from: { page: string; pages: ReadonlySet<string>; repository: string | undefined; root: string },
  ) => string;
}
interface CheckSite {
  readonly listDeadLinks: (folder: string, base?: string) => string[];
}

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'site-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the site', () => {
  let site: string;
  beforeAll(() => {
    site = join(folder, 'site');
    const env = { ...process.env, CPUSETD_SITE: site };
    const built = spawnSync(process.execPath, [join(ROOT, 'scripts/docs.mjs')], { encoding: 'utf8', env });
    expect([built.status, built.stderr]).toEqual([0, expect.stringContaining(`the site is in ${site}`)]);
  });

  test('has every page of docs, and every page is in the menu', async () => {
    const { listPages, placeOf, readMenu } = await loadScript<Pages>('docs/pages.mjs');
    const files = readdirSync(site, { recursive: true, encoding: 'utf8' });
    const wanted = listPages(ROOT).map((page) => placeOf(page).replace(/\.md$/, '.html'));
    expect(wanted).toEqual(expect.arrayContaining(['index.html', 'docs/install.html', 'deploy/index.html']));
    expect(files).toEqual(expect.arrayContaining(wanted));
    const inMenu = readMenu(ROOT).flatMap(({ items }) => items.map(({ link }) => link));
    const inNoMenu = listPages(ROOT).filter(
      (page) => page.startsWith('docs/') && !inMenu.includes(`/${placeOf(page)}`),
    );
    expect(inNoMenu).toEqual([]);
    expect(readMenu(ROOT).map(({ text }) => text)).toEqual(['Operate', 'Tune', 'Develop']);
  });

  test('finds a term by its own index', () => {
    const chunks = readdirSync(join(site, 'assets/chunks')).filter((name) => name.startsWith('@localSearchIndex'));
    expect(chunks).toHaveLength(1);
    const index = readFileSync(join(site, 'assets/chunks', chunks[0]!), 'utf8');
    const terms = ['barred', 'held-under-old-rules', 'distribute-cpus-across-numa'];
    expect(terms.filter((term) => !index.includes(term.split('-')[0]!))).toEqual([]);
    expect(index).toContain('/docs/reliability.html#what-is-undone');
  });

  test('has no dead link, and a page asks nobody else for anything', async () => {
    const { listDeadLinks } = await loadScript<CheckSite>('docs/check-site.mjs');
    expect(listDeadLinks(site)).toEqual([]);
    const html = readFileSync(join(site, 'docs/install.html'), 'utf8');
    const asked = [...html.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"/g)].map(
      ([, address]) => address!,
    );
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((address) => /^(?:https?:)?\/\//.test(address))).toEqual([]);
  });
});

test.each`
  html                                                          | dead                            | what
  ${'<a href="/b.html">'}                                       | ${[]}                           | ${'a page'}
  ${'<a href="/b.html#there">'}                                 | ${[]}                           | ${'an anchor'}
  ${'<a href="/">'}                                             | ${[]}                           | ${'the first page'}
  ${'<a href="https://example.com/x#y"><a href="../src/a.ts">'} | ${[]}                           | ${'what is not of the site'}
  ${'<a href="/gone.html">'}                                    | ${['index.html: /gone.html']}   | ${'a page that is gone'}
  ${'<a href="/b.html#gone">'}                                  | ${['index.html: /b.html#gone']} | ${'an anchor that is gone'}
  ${'<a href="#gone">'}                                         | ${['index.html: #gone']}        | ${'an anchor that the page itself does not have'}
  ${'<img src="/gone.png">'}                                    | ${['index.html: /gone.png']}    | ${'a picture that is gone'}
`('given a link to $what, then these are dead: $dead', async ({ html, dead }: { html: string; dead: string[] }) => {
  const { listDeadLinks } = await loadScript<CheckSite>('docs/check-site.mjs');
  const small = mkdtempSync(join(folder, 'small-'));
  for (const [path, text] of [
    ['index.html', html],
    ['b.html', '<h2 id="there">'],
  ] as const) {
    mkdirSync(dirname(join(small, path)), { recursive: true });
    writeFileSync(join(small, path), text);
  }
  expect(listDeadLinks(small)).toEqual(dead);
});

describe('a link of a page', () => {
  const pages = new Set(['README.md', 'docs/design.md', 'docs/policies.md', 'deploy/README.md']);
  const address = 'https://example.com/cpusetd';

  test.each`
    href                              | repository   | want
    ${'policies.md#topology-manager'} | ${address}   | ${'/docs/policies.md#topology-manager'}
    ${'../README.md'}                 | ${address}   | ${'/index.md'}
    ${'../deploy'}                    | ${address}   | ${'/deploy/index.md'}
    ${'#words'}                       | ${address}   | ${'#words'}
    ${'https://example.org/x'}        | ${address}   | ${'https://example.org/x'}
    ${'../src/core/README.md'}        | ${address}   | ${`${address}/blob/main/src/core/README.md`}
    ${'../test/cluster/'}             | ${address}   | ${`${address}/tree/main/test/cluster`}
    ${'../src/core/README.md'}        | ${undefined} | ${'../src/core/README.md'}
  `('given $href and the repository $repository, then it leads to $want', async (row) => {
    const { href, repository, want } = row as { href: string; repository: string | undefined; want: string };
    const { toSiteLink } = await loadScript<Links>('docs/links.mjs');
    expect(toSiteLink(href, { page: 'docs/design.md', pages, repository, root: ROOT })).toBe(want);
  });

  test.each`
    repository                                                            | want
    ${{ type: 'git', url: 'git+https://example.com/group/cpusetd.git' }}  | ${'https://example.com/group/cpusetd'}
    ${'https://example.com/group/cpusetd'}                                | ${'https://example.com/group/cpusetd'}
    ${{ type: 'git', url: 'git+https://repository.invalid/cpusetd.git' }} | ${undefined}
    ${undefined}                                                          | ${undefined}
  `('given $repository in package.json, then the address is $want', async ({ repository, want }) => {
    const { readRepository } = await loadScript<Links>('docs/links.mjs');
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ repository }));
    expect(readRepository(folder)).toBe(want);
  });

  test('given a file that does not exist, then the build ends', async () => {
    const { toSiteLink } = await loadScript<Links>('docs/links.mjs');
    const from = { page: 'docs/design.md', pages, repository: undefined, root: ROOT };
    expect(() => toSiteLink('../src/gone.ts', from)).toThrow('docs/design.md: there is no src/gone.ts');
  });
});
