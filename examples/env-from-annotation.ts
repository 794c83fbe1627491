// Sets environment variables of containers by annotations of their pod: `env.example.com/GREETING: hello` sets
// GREETING=hello.
//
//   node dist/examples/env-from-annotation.js [SOCKET]      SOCKET: default /var/run/nri/nri.sock
import { Console } from 'node:console';

import { runNriPlugin } from 'cpusetd/nri';

const PREFIX = 'env.example.com/';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

runNriPlugin({
  name: 'env-from-annotation',
  index: '20',
  socketPath: process.argv[2],
  signal: stop.signal,
  log: new Console(process.stderr),
  handlers: {
    createContainer({ pod }) {
      const env = Object.entries(pod?.annotations ?? {})
        .filter(([key]) => key.startsWith(PREFIX))
        .map(([key, value]) => ({ key: key.slice(PREFIX.length), value }));
      return env.length > 0 ? { adjust: { env } } : undefined;
    },
  },
});
