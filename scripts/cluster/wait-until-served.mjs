// Readiness of the API server.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {import('./server-process.mjs').ServerProcess} ServerProcess */

/** The limit for a start. It is long, since a slow machine is no failure. */
const deadlineMs = 150_000;

/**
 * Waits until the API server says that it is ready.
 * @param {string} server its URL
 * @param {string} work the folder with `ca.crt` and the administrator's certificate
 * @param {ServerProcess[]} processes that must go on meanwhile
 * @returns {Promise<void>}
 * @throws {Error} with the last lines of its log
 */
export async function waitUntilServed(server, work, processes) {
  const end = performance.now() + deadlineMs;
  while (!(await answers(`${server}/readyz`, work))) {
    const ended = processes.find(({ isRunning }) => !isRunning);
    if (ended !== undefined) throw new Error(`${ended.name} ended by itself; its last words: ${ended.lastWords()}`);
    if (performance.now() > end)
      throw new Error(`the API server is not ready after ${deadlineMs} ms: ${processes.at(-1)?.lastWords()}`);
    await pause(100);
  }
}

/**
 * True when the answer is 200.
 * @param {string} url
 * @param {string} work
 * @returns {Promise<boolean>}
 */
function answers(url, work) {
  /** @param {string} name */
  const read = (name) => readFileSync(join(work, name));
  return new Promise((resolve) => {
    const options = { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key'), timeout: 2_000 };
    const call = request(url, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.once('error', () => resolve(false));
    call.once('timeout', () => call.destroy());
    call.end();
  });
}
