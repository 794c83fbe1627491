// The links of the built site. VitePress looks for pages only; here anchors count too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/**
 * Links of the site's pages that lead to no page, no file or no anchor.
 * @param {string} folder of the built site
 * @param {string} [base] the path of its root on the server
 * @returns {string[]}
 */
export function listDeadLinks(folder, base = '/') {
  const pages = new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.html') && name !== '404.html')
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
  const anchors = new Map([...pages].map(([name, html]) => [name, new Set(listValues(html, 'id'))]));
  return [...pages].flatMap(([name, html]) =>
    [...listValues(html, 'href'), ...listValues(html, 'src')]
      .filter((link) => !isOutside(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? name : placeOf(path, name, base);
        if (!pages.has(target) && !existsSync(join(folder, target))) return true;
        return anchor !== undefined && anchor !== '' && anchors.get(target)?.has(decodeURIComponent(anchor)) !== true;
      })
      .map((link) => `${name}: ${link}`),
  );
}

/** Those with a scheme, and relative ones: these lead into the repository. @param {string} link */
function isOutside(link) {
  return /^(?:\w+:|\.)/.test(link);
}

/** @param {string} path @param {string} page @param {string} base */
function placeOf(path, page, base) {
  const target = path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(page), path);
  return target === '' || target.endsWith('/') ? `${target}index.html` : target;
}

/** @param {string} html @param {'id' | 'href' | 'src'} name */
function listValues(html, name) {
  return [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    value.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"'),
  );
}
