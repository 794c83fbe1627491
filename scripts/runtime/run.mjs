// Runs a private containerd until it is told to end. For people, and for the end-to-end tests.
//
//   node scripts/runtime/run.mjs [--suite trixie|sid|release] [--nri on|off] [--required-plugin NAME] [--attached]
//
// Standard output carries one JSON line per event: `ready` (sockets, versions, cgroup root), then `stopped` with what
// could not be removed. It ends on SIGINT or SIGTERM. With --attached it also ends when standard input closes, and takes
// the lines `kill` (crash containerd) and `start` (start it again), answered by `killed` and `started`.
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { startPrivateRuntime } from './private-runtime.mjs';

const { values } = parseArgs({
  options: {
    suite: { type: 'string', default: 'trixie' },
    nri: { type: 'string', default: 'on' },
    'required-plugin': { type: 'string' },
    attached: { type: 'boolean', default: false },
  },
});
const say = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
process.stdout.on('error', () => {}); // whoever read it is gone; ending in order matters more

let end;
const ended = new Promise((resolve) => (end = resolve));
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, end);
const lines = values.attached ? createInterface({ input: process.stdin }) : undefined;
lines?.on('close', end);

try {
  const runtime = await startPrivateRuntime({
    suite: values.suite,
    nri: values.nri === 'on',
    requiredPlugin: values['required-plugin'],
    log: (line) => console.error(line),
  });
  say('ready', runtime.facts);
  let last = Promise.resolve();
  lines?.on('line', (line) => {
    last = last.then(() => carryOut(runtime, line)).catch((error) => say('failed', { reason: error.message }));
  });
  await ended;
  await last;
  const leftovers = await runtime.stop();
  say('stopped', { leftovers });
  process.exitCode = leftovers.length === 0 ? 0 : 1;
} catch (error) {
  say('failed', { reason: error.message });
  console.error(`no runtime: ${error.message}`);
  process.exitCode = 1;
} finally {
  lines?.close();
}

async function carryOut(runtime, line) {
  if (line === 'kill') {
    await runtime.kill();
    say('killed');
  } else if (line === 'start') {
    say('started', { containerdPid: await runtime.start() });
  } else {
    say('failed', { reason: `not a command: ${line}` });
  }
}
