// The test files that are nearest to changed files. Pure.
import { dirname, join, normalize } from 'node:path';

/** @typedef {{ path: string, text: string }} SourceFile paths are relative to the root of the project */

/** The tests of all pages: of links, and of the tables of files. */
const aboutPages = /^test\/docs\/(references|folder-tables)\./;

/**
 * Finds the test files that a change touches: those that changed, import a changed file, import an index that exports
 * it, name it, or are in the folder that mirrors its folder; and for a page its own and those of all pages. Tests that
 * depend on it through other modules are not among them.
 * @param {readonly string[]} changed
 * @param {readonly SourceFile[]} tests all test files
 * @param {readonly SourceFile[]} indexes all files named index.ts
 * @returns {string[]}
 */
export function findRelatedTests(changed, tests, indexes) {
  const modules = new Set(changed.map(toModule));
  for (const index of indexes)
    if (listImports(index).some((name) => modules.has(name))) modules.add(toModule(index.path));
  const hasPage = changed.some((path) => path.endsWith('.md'));
  const mirrors = new Set(changed.filter((path) => path.startsWith('src/')).map(mirrorOf));
  const ofPages = new Set(changed.map((path) => /^docs\/([\w-]+)\.md$/.exec(path)?.[1]));
  const names = changed.filter((path) => !path.endsWith('.ts')).map((path) => path.split('/').slice(-2).join('/'));
  return tests
    .filter(
      (test) =>
        changed.includes(test.path) ||
        listImports(test).some((name) => modules.has(name)) ||
        names.some((name) => test.text.includes(name)) ||
        mirrors.has(dirname(test.path)) ||
        ofPages.has(/^test\/docs\/([\w-]+)\.test\.ts$/.exec(test.path)?.[1] ?? '') ||
        (hasPage && aboutPages.test(test.path)),
    )
    .map(({ path }) => path);
}

/**
 * The folder of tests that mirrors the folder of a source.
 * @param {string} path
 */
const mirrorOf = (path) => dirname(path).replace(/^src\b/, 'test');

/**
 * A path as imports name it: without its ending, and without the index of a folder.
 * @param {string} path
 */
const toModule = (path) => path.replace(/\.([cm]?js|ts)$/, '').replace(/\/index$/, '');

/**
 * The modules of the project that a file imports or exports from.
 * @param {SourceFile} file
 */
const listImports = ({ path, text }) =>
  [...text.matchAll(/(?:from|import|import\(|require\(|mock\()\s*'(\.[^']*)'/g)].map(([, name = '']) =>
    toModule(normalize(join(dirname(path), name)).replace(/\/$/, '')),
  );
