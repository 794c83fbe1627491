// The pages of the site: README, docs, and what they send a reader to.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const beside = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy/README.md'];
/**
 * @param {string} root the project's folder
 * @returns {string[]} the paths of the pages in it
 */
export function listPages(root) {
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  return [...beside, ...docs.map((name) => `docs/${name}`)].sort();
}

/**
 * @param {string} page its path in the project
 * @returns {string} its path in the site, where a folder shows its `index`
 */
export function placeOf(page) {
  return page.replace(/README\.md$/, 'index.md');
}

/** @typedef {{ text: string, link: string }} MenuItem */

/**
 * The lists of README.md below the headings of its three doors, as a menu. What has no page in the site is left out.
 *
 * @param {string} root the project's folder @returns {{ text: string, items: MenuItem[] }[]}
 */
export function readMenu(root) {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const pages = new Set(listPages(root));
  return [...readme.matchAll(/^## (Operate|Tune|Develop) it\n([^]*?)(?=\n## |\n\|)/gm)].map(
    ([, text = '', list = '']) => ({
      text,
      items: [...list.matchAll(/\[([^\]]+)\]\(([\w/-]+\.md)\)/g)]
        .map(([, title = '', page = '']) => ({ text: title, page }))
        .filter(({ page }) => pages.has(page))
        .map(({ text: title, page }) => ({ text: title, link: `/${placeOf(page)}` })),
    }),
  );
}

/**
 * Patterns of the folders and pages that are not in the site.
 *
 * @param {string} root the project's folder @returns {string[]}
 */
export function listOthers(root) {
  const pages = listPages(root);
  return readdirSync(root, { withFileTypes: true })
    .map((entry) => ({ name: entry.name, pattern: entry.isDirectory() ? `${entry.name}/**` : entry.name }))
    .filter(({ name }) => !pages.some((page) => page === name || page.startsWith(`${name}/`)))
    .map(({ pattern }) => pattern);
}
