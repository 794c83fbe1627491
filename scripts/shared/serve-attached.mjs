// The frame of a command that keeps a server running until it is ended: events on standard output, commands on standard
// input.
import { createInterface } from 'node:readline';
import { messageOf } from './errors.mjs';

/** @typedef {(event: string, facts?: object) => void} Say Prints an event as a line of JSON. */

/**
 * Starts a server, prints `ready` with its facts, and stops it on SIGINT or SIGTERM; with `attached` also when standard
 * input closes. With `attached` each line of standard input is a command. A command or a server that fails is the event
 * `failed`.
 * @template {{ facts: object }} Server
 * @param {() => Promise<Server>} start
 * @param {object} options
 * @param {boolean} options.attached
 * @param {string} options.what the name of the server for the message when there is none
 * @param {Record<string, (server: Server, say: Say) => Promise<void>>} options.commands by the line of standard input
 * @param {(server: Server, say: Say) => Promise<void>} options.stop
 * @returns {Promise<void>}
 */
export async function serveAttached(start, { attached, what, commands, stop }) {
  /** @type {Say} */
  const say = (event, facts = {}) => {
    process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);
  };
  process.stdout.on('error', () => {}); // the reader is gone; ending in order matters more

  const lines = attached ? createInterface({ input: process.stdin }) : undefined;
  const ended = new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM']) process.on(name, resolve);
    lines?.on('close', resolve);
  });

  try {
    const server = await start();
    say('ready', server.facts);
    let last = Promise.resolve();
    lines?.on('line', (line) => {
      const carryOut = commands[line] ?? (async () => say('failed', { reason: `not a command: ${line}` }));
      last = last
        .then(() => carryOut(server, say))
        .catch((/** @type {unknown} */ error) => say('failed', { reason: messageOf(error) }));
    });
    await ended;
    await last;
    await stop(server, say);
  } catch (error) {
    say('failed', { reason: messageOf(error) });
    console.error(`no ${what}: ${messageOf(error)}`);
    process.exitCode = 1;
  } finally {
    lines?.close();
  }
}
