// Links between pages. In the sources they are relative paths of files, so that they work in the repository.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { listPages, placeOf } from './pages.mjs';

/** @typedef {import('vitepress').MarkdownRenderer} MarkdownRenderer */

/**
 * The anchor of a heading, as GitHub makes it.
 * @param {string} title
 * @returns {string}
 */
export function toAnchor(title) {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/**
 * Makes links of pages lead to pages of the site, and all others to the repository.
 * @param {MarkdownRenderer} markdown
 * @param {string} root the project's folder
 */
export function useSiteLinks(markdown, root) {
  const all = listPages(root);
  const pages = new Set(all);
  const repository = readRepository(root);
  markdown.core.ruler.push('links-of-the-site', (state) => {
    const env = /** @type {{ relativePath?: string, path?: string }} */ (state.env);
    // The renderer has the place of a page, the search its path in the project.
    const page = all.find((each) => [each, placeOf(each)].includes(env.relativePath ?? '')) ?? '';
    for (const { children } of state.tokens)
      for (const token of children ?? []) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href !== null) token.attrSet('href', toSiteLink(href, { page, pages, repository, root }));
      }
  });
}

/**
 * @param {string} href of a page's source
 * @param {object} from
 * @param {string} from.page the path of the page in the project
 * @param {ReadonlySet<string>} from.pages those of the site
 * @param {string | undefined} from.repository its address
 * @param {string} from.root the project's folder
 * @returns {string} the link in the site
 * @throws {Error} when there is no such file
 */
export function toSiteLink(href, { page, pages, repository, root }) {
  if (/^(?:\w+:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const target = posix.join(posix.dirname(page), decodeURI(path)).replace(/\/$/, '');
  const end = anchor === undefined ? '' : `#${anchor}`;
  const asPage = [target, `${target}/README.md`].find((each) => pages.has(each));
  if (asPage !== undefined) return `/${placeOf(asPage)}${end}`;
  if (!existsSync(join(root, target))) throw new Error(`${page}: there is no ${target}`);
  if (repository === undefined) return href.startsWith('.') ? href : `./${href}`;
  const kind = statSync(join(root, target)).isDirectory() ? 'tree' : 'blob';
  return `${repository}/${kind}/main/${target}${end}`;
}

/**
 * Links that stay as they are where the address of the repository is not known: toSiteLink has looked at their files.
 */
export const linksOfRepository = [/^\.{1,2}\//];

/**
 * @param {string} root the project's folder
 * @returns {string | undefined} the address of the repository in package.json, for browsers; undefined while it is not
 * known
 */
export function readRepository(root) {
  const { repository } = /** @type {{ repository?: string | { url?: string } }} */ (
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  );
  const address = typeof repository === 'string' ? repository : repository?.url;
  const shown = address?.replace(/^git\+/, '').replace(/\.git$/, '');
  // A name below .invalid stands for an address that is not known yet (RFC 6761).
  return shown === undefined || new URL(shown).hostname.endsWith('.invalid') ? undefined : shown;
}
