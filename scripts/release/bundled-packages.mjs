// The npm packages of which the program contains something, with their licences.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} BundledPackage
 * @property {string} name
 * @property {string} version
 * @property {string} licence an SPDX expression
 * @property {string} integrity of its archive, as package-lock.json has it
 * @property {string} notice the text of its licence files
 */

/** The files that hold the terms of a package. */
const licenceFile = /^(licen[cs]e|copying|notice)/i;

/**
 * The packages of bundled files, by name and version.
 * @param {string} root the project's folder
 * @param {string[]} files paths from `root`
 * @returns {BundledPackage[]} sorted
 * @throws {Error} for a package that names no licence
 */
export function listBundledPackages(root, files) {
  const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const folders = new Set(files.map(packageFolderOf));
  const found = new Map();
  for (const folder of folders) {
    const { name, version, license, author } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    if (typeof license !== 'string') throw new Error(`${folder}: its package.json names no licence`);
    const own = files.filter((file) => packageFolderOf(file) === folder).map((file) => join(root, file));
    const notice = readNotice(join(root, folder)) || readHeaders(own) || noticeWithout({ license, author });
    found.set(`${name}@${version}`, { name, version, licence: license, integrity: locked[folder].integrity, notice });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/**
 * The folder of a package, the innermost if it lies in another one.
 * @param {string} path of one of its files
 */
function packageFolderOf(path) {
  const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
  if (folder === undefined) throw new Error(`not a file of a package: ${path}`);
  return folder;
}

/** @param {string} folder */
function readNotice(folder) {
  const names = readdirSync(folder)
    .filter((name) => licenceFile.test(name))
    .sort();
  const texts = names.map((name) => readFileSync(join(folder, name), 'utf8').trim());
  if (texts.length > 0) return texts.join('\n\n');
  const readme = ['README.md', 'readme.md'].map((name) => join(folder, name)).find(existsSync);
  const [, section] = (readme ? readFileSync(readme, 'utf8') : '').split(/^#+ *licen[cs]e.*$/im);
  return section?.trim() ?? '';
}

/**
 * The comments about rights at the head of files.
 * @param {string[]} paths
 */
function readHeaders(paths) {
  const comments = paths.map((path) => /^(?:\/\/.*\n)+|^\/\*[^]*?\*\//.exec(readFileSync(path, 'utf8'))?.[0] ?? '');
  const texts = comments.map((comment) => comment.replaceAll(/^(?:\/\/ ?|\/\*+ ?| \*+\/?)/gm, '').trim());
  return [...new Set(texts.filter((text) => /copyright/i.test(text)))].sort().join('\n\n');
}

/** @param {{ license: string, author: unknown }} manifest */
function noticeWithout({ license, author }) {
  const named = typeof author === 'string' ? author : /** @type {{ name?: string } | undefined} */ (author)?.name;
  return `The package has no file with its terms. Its package.json names the licence ${license}${named ? ` and the author ${named}` : ''}.`;
}
