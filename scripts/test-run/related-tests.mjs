// The test files that are nearest to changed files. Pure.
import { dirname, join, normalize } from 'node:path';

/** @typedef {{ path: string, text: string }} SourceFile paths are relative to the root of the project */

/** The tests of pages, manifests and other files that no code imports. */
const aboutFiles = /^test\/(docs|monitoring)\//;

/**
 * Finds the test files that a change touches: those that changed, import a changed file, import an index that exports it, or name it.
 * Tests that depend on it through other modules are not among them.
 * @param {readonly string[]} changed
 * @param {readonly SourceFile[]} tests all test files
 * @param {readonly SourceFile[]} indexes all files named index.ts
 * @returns {string[]}
 */
export function findRelatedTests(changed, tests, indexes) {
  const modules = new Set(changed.map(toModule));
  for (const index of indexes)
    if (listImports(index).some((name) => modules.has(name))) modules.add(toModule(index.path));
  const isOther = changed.some((path) => !/\.([cm]?js|ts)$/.test(path));
  const names = changed.filter((path) => !path.endsWith('.ts')).map((path) => path.split('/').slice(-2).join('/'));
  return tests
    .filter(
      (test) =>
        changed.includes(test.path) ||
        listImports(test).some((name) => modules.has(name)) ||
        names.some((name) => test.text.includes(name)) ||
        (isOther && aboutFiles.test(test.path)),
    )
    .map(({ path }) => path);
}

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
