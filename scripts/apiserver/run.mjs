// Runs a private API server for custom resources until it is ended. For people, and for the end-to-end tests.
//
//   node scripts/apiserver/run.mjs [--attached]
//
// Standard output carries one JSON line per event: `ready` (server, kubeconfigs, versions), then `stopped`. It ends on SIGINT or
// SIGTERM. With --attached it also ends when standard input closes, and takes the lines `kill` and `start`, answered by
// `killed` and `started`.
import { parseArgs } from 'node:util';
import { logToStderr } from '../shared/log.mjs';
import { serveAttached } from '../shared/serve-attached.mjs';
import { startPrivateApiServer } from './private-api-server.mjs';

const { values } = parseArgs({ options: { attached: { type: 'boolean', default: false } } });
await serveAttached(() => startPrivateApiServer({ log: logToStderr }), {
  attached: values.attached,
  what: 'API server',
  commands: {
    async kill(api, say) {
      await api.kill();
      say('killed');
    },
    async start(api, say) {
      await api.start();
      say('started');
    },
  },
  async stop(api, say) {
    await api.stop();
    say('stopped');
  },
});
