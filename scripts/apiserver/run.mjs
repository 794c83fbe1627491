// Runs a private API server for custom resources until it is told to end. For people, and for the end-to-end tests.
//
//   node scripts/apiserver/run.mjs [--attached]
//
// Standard output carries one JSON line per event: `ready` (server, kubeconfigs, versions), then `stopped`. It ends on SIGINT or
// SIGTERM. With --attached it also ends when standard input closes, and takes the lines `kill` and `start`, answered by
// `killed` and `started`.
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { startPrivateApiServer } from './private-api-server.mjs';

const { values } = parseArgs({ options: { attached: { type: 'boolean', default: false } } });
const say = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
process.stdout.on('error', () => {}); // whoever read it is gone; ending in order matters more

let end;
const ended = new Promise((resolve) => (end = resolve));
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, end);
const lines = values.attached ? createInterface({ input: process.stdin }) : undefined;
lines?.on('close', end);

try {
  const api = await startPrivateApiServer({ log: (line) => console.error(line) });
  say('ready', api.facts);
  let last = Promise.resolve();
  lines?.on('line', (line) => {
    last = last.then(() => carryOut(api, line)).catch((error) => say('failed', { reason: error.message }));
  });
  await ended;
  await last;
  await api.stop();
  say('stopped');
} catch (error) {
  say('failed', { reason: error.message });
  console.error(`no API server: ${error.message}`);
  process.exitCode = 1;
} finally {
  lines?.close();
}

async function carryOut(api, line) {
  if (line === 'kill') {
    await api.kill();
    say('killed');
  } else if (line === 'start') {
    await api.start();
    say('started');
  } else {
    say('failed', { reason: `not a command: ${line}` });
  }
}
