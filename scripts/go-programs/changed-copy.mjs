// A program of ours that is built twice: with a package of a module as it is, and with a changed copy of that package.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * @typedef {object} Copy
 * @property {string} of the program of ours
 * @property {string} package the Go package that is changed
 * @property {string} changes a JSON file beside go.mod: a list of `Change`
 */
/**
 * @typedef {object} Change
 * @property {string} name what it does
 * @property {string} file of the package
 * @property {string} find a text that is there once
 * @property {string} replace
 */

/**
 * Writes the sources of a copy into a folder, and the overlay for `go build` that lays them beside those of the
 * program: Go lets nothing of its module cache be replaced, so the copy imports a package of its own.
 * @param {object} options
 * @param {string} options.dir the folder of go.mod
 * @param {string} options.name the name of the copy
 * @param {Copy} options.copy
 * @param {string} options.packageDir the folder of the package's sources
 * @param {string} options.folder where to write; it is made
 * @returns {string} the file of the overlay
 * @throws {Error} when a change does not fit: the package is another release
 */
export function writeChangedCopy({ dir, name, copy, packageDir, folder }) {
  const goMod = readFileSync(join(dir, 'go.mod'), 'utf8');
  const [, module = ''] = /^module (\S+)$/m.exec(goMod) ?? [];
  const ownPackage = basename(copy.package);
  /** @type {Change[]} */
  const changes = JSON.parse(readFileSync(join(dir, copy.changes), 'utf8'));
  /** @type {Record<string, string>} */
  const replaced = {};
  /** @type {(from: string, to: string, change: (file: string, text: string) => string) => void} */
  const copySources = (from, to, change) => {
    const target = join(folder, to);
    mkdirSync(target, { recursive: true });
    for (const file of readdirSync(from).filter((each) => each.endsWith('.go') && !each.endsWith('_test.go'))) {
      writeFileSync(join(target, file), change(file, readFileSync(join(from, file), 'utf8')));
      replaced[join(dir, to, file)] = join(target, file);
    }
  };
  copySources(join(dir, copy.of), name, (_file, text) =>
    text.replaceAll(`"${copy.package}"`, `"${module}/${name}/${ownPackage}"`),
  );
  copySources(packageDir, join(name, ownPackage), (file, text) =>
    changes.filter((change) => change.file === file).reduce(applyChange, text),
  );
  const overlay = join(folder, 'overlay.json');
  writeFileSync(overlay, JSON.stringify({ Replace: replaced }));
  return overlay;
}

/**
 * @param {string} text
 * @param {Change} change
 * @returns {string}
 */
export function applyChange(text, { name, file, find, replace }) {
  const [before, after, ...more] = text.split(find);
  if (after === undefined || more.length > 0)
    throw new Error(
      `the change "${name}" does not fit ${file}: its text is there ${more.length + (after === undefined ? 0 : 1)} times`,
    );
  return `${before}${replace}${after}`;
}
