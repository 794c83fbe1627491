// The order of test files: the longest first, by the seconds that they took at the last run, so that all workers end at
// about the same time. A clone in another folder knows them too, since they are kept in the project's cache.
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDir } from '../shared/cache.mjs';
import { jestResultsVariable } from './jest-reporter.mjs';
import { planParts } from './results.mjs';

const require = createRequire(import.meta.url);
/** @type {typeof import('@jest/test-sequencer')} */
const { default: Sequencer } = require('@jest/test-sequencer');

/** @typedef {import('@jest/test-result').Test} Test */
/** @typedef {import('@jest/test-result').AggregatedResult} AggregatedResult */

/** It is made by jest, for one run. */
export default class LongestFirst extends Sequencer {
  /**
   * Sorts test files, and writes their names as the plan of the run.
   * @param {Test[]} tests
   * @returns {Promise<Test[]>}
   * @override
   */
  async sort(tests) {
    const seconds = readSeconds();
    /** A file that is not known may take long. @param {Test} test */
    const secondsOf = ({ path }) => seconds[toName(path)] ?? 1e9;
    // Files that are not known keep the order that jest gives them.
    const sorted = [...(await super.sort(tests))].sort((a, b) => secondsOf(b) - secondsOf(a));
    planParts(
      sorted.map(({ path }) => toName(path)),
      process.env[jestResultsVariable],
    );
    return sorted;
  }

  /**
   * Keeps the seconds of the files that ran.
   * @param {Test[]} _tests
   * @param {AggregatedResult} results
   * @override
   */
  cacheResults(_tests, { testResults }) {
    const ran = testResults.filter(({ skipped }) => !skipped);
    const now = Object.fromEntries(
      ran.map(({ testFilePath, perfStats }) => [toName(testFilePath), Math.round(perfStats.runtime / 100) / 10]),
    );
    const building = `${file()}.${process.pid}`;
    try {
      mkdirSync(dirname(file()), { recursive: true });
      writeFileSync(building, JSON.stringify({ ...readSeconds(), ...now }));
      renameSync(building, file());
    } catch {
      // Without a cache that can be written, files run in jest's own order.
    }
  }
}

const file = () => join(cacheDir(), 'test-seconds.json');

/** @param {string} path */
const toName = (path) => path.replace(`${process.cwd()}/`, '');

/** @returns {Record<string, number>} by the name of the file */
function readSeconds() {
  try {
    return JSON.parse(readFileSync(file(), 'utf8'));
  } catch {
    return {}; // no run has ended yet
  }
}
