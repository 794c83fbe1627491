// The unit and conformance tests that are nearest to changed files of the project.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { findRelatedTests } from './related-tests.mjs';

/** The folders of tests that take minutes, or more than this machine. */
const slowFolders = ['e2e', 'cluster', 'browser', 'machines', 'soak'].map((name) => `test/${name}/`);

/**
 * Lists the test files that are nearest to these files.
 * @param {string} root the project's folder
 * @param {readonly string[]} changed paths from it
 * @returns {string[]}
 */
export function listNearestTests(root, changed) {
  const tests = listFiles('test').filter(
    (path) => path.endsWith('.test.ts') && !slowFolders.some((name) => path.startsWith(name)),
  );
  const indexes = ['src', 'test'].flatMap(listFiles).filter((path) => basename(path) === 'index.ts');
  return findRelatedTests(changed, tests.map(read), indexes.map(read));

  /** @param {string} folder */
  function listFiles(folder) {
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`);
  }

  /** @param {string} path */
  function read(path) {
    return { path, text: readFileSync(join(root, path), 'utf8') };
  }
}
