import { setFlagsFromString } from 'node:v8';

import { runCli } from './cli/program';

declare const __CPUSETD_VERSION__: string;

async function main(): Promise<void> {
  const stop = new AbortController();
  // Once: the same signal a second time kills.
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort(name));
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(0); // the reader has seen enough
  });

  process.exitCode = await runCli(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: stop.signal,
    version: __CPUSETD_VERSION__,
    runDaemon: async ({ config, placeOf }, signal) => {
      // What a request leaves behind is little: a young generation that stays at 2 MiB, instead of growing to 16, costs
      // no time that could be measured.
      setFlagsFromString('--semi-space-growth-factor=1');
      const { openLog } = await import('./app/log');
      const { runDaemon } = await import('./app/run-daemon');
      const notifySocket = process.env['NOTIFY_SOCKET'];
      const log = await openLog(config);
      await runDaemon({ config, placeOf, version: __CPUSETD_VERSION__, log, notifySocket, signal });
    },
  });
}

void main();
