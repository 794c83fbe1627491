// Runs a private container runtime until it is ended. For people, and for the end-to-end tests.
//
//   node scripts/runtime/run.mjs [--suite trixie|sid|release|crio] [--nri on|off] [--required-plugin NAME] [--attached]
//
// Standard output carries one JSON line per event: `ready` (sockets, versions, cgroup root), then `stopped` with the
// things that could not be removed. It ends on SIGINT or SIGTERM. With --attached it also ends when standard input
// closes, and takes the lines `kill` (crash the runtime), `power-off` (crash everything) and `start` (start it again),
// answered by `killed`, `off` and `started`.
import { parseArgs } from 'node:util';
import { logToStderr } from '../shared/log.mjs';
import { serveAttached } from '../shared/serve-attached.mjs';
import { powerOff } from './power-off.mjs';
import { startPrivateRuntime } from './private-runtime.mjs';

const { values } = parseArgs({
  options: {
    suite: { type: 'string', default: 'trixie' },
    nri: { type: 'string', default: 'on' },
    'required-plugin': { type: 'string' },
    attached: { type: 'boolean', default: false },
  },
});
const { suite, attached } = values;
const nri = values.nri === 'on';
const requiredPlugin = values['required-plugin'];
await serveAttached(() => startPrivateRuntime({ suite, nri, requiredPlugin, log: logToStderr }), {
  attached,
  what: 'runtime',
  commands: {
    async kill(runtime, say) {
      await runtime.kill();
      say('killed');
    },
    async 'power-off'(runtime, say) {
      await powerOff(runtime.facts);
      say('off');
    },
    async start(runtime, say) {
      say('started', { runtimePid: await runtime.start() });
    },
  },
  async stop(runtime, say) {
    const leftovers = await runtime.stop();
    say('stopped', { leftovers });
    process.exitCode = leftovers.length === 0 ? 0 : 1;
  },
});
