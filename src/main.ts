import { basename } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';

import type { LogOptions } from './app/log';
import { runCli } from './cli/program';
import { showLines } from './core/show-text';

declare const __CPUSETD_VERSION__: string;

/** EX_SOFTWARE of sysexits(3). */
const EXIT_UNEXPECTED = 70;

async function main(): Promise<void> {
  const stop = new AbortController();
  // Once: the same signal a second time kills.
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort(name));
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(0); // the reader has seen enough
  });

  const args = process.argv.slice(2);
  const { env, stdin, stdout, stderr } = process;
  const context = { env, etcRoot: '/etc', stdin, stdout, stderr, signal: stop.signal, version: __CPUSETD_VERSION__ };
  if (isPlugin(process.argv[1])) {
    const { runPlugin } = await import('./kubectl/program');
    process.exitCode = await runPlugin(args, context);
    return;
  }
  if (completesPlugin(process.argv[1])) {
    const { completePlugin } = await import('./kubectl/program');
    await completePlugin(args, context);
    return;
  }
  process.exitCode = await runCli(args, {
    ...context,
    runDaemon: async (loaded, signal) => {
      // A request leaves little garbage: a young generation that stays at 2 MiB, instead of growing to 16, costs no
      // measurable time.
      setFlagsFromString('--semi-space-growth-factor=1');
      // Before the daemon can follow it: the signal must not end the process.
      const hangup = new EventTarget();
      process.on('SIGHUP', () => hangup.dispatchEvent(new Event('hangup')));
      const log = await openProcessLog(
        loaded.config,
        'an unexpected error ends cpusetd; its next start goes on from the state on disk',
      );
      const { runDaemon } = await import('./app/daemon');
      const { readSystemd } = await import('./app/lifecycle/systemd');
      const systemd = readSystemd(process.env, process.pid);
      await runDaemon({ loaded, hangup, version: __CPUSETD_VERSION__, log, systemd, signal });
    },
    openLog: (options) =>
      openProcessLog(options, 'an unexpected error ends cpusetd; its next start begins with what the API server has'),
  });
}

/** kubectl runs plugins by the name of their file: `kubectl cpuset` is a link of this name to the program. */
function isPlugin(path = ''): boolean {
  return /^kubectl[-_]cpuset(?:\.c?js)?$/.test(basename(path));
}

/** kubectl asks a second link, of this name, for what completes a command line of the plugin. */
function completesPlugin(path = ''): boolean {
  return /^kubectl_complete-cpuset(?:\.c?js)?$/.test(basename(path));
}

/** Opens the log that an unexpected error goes to, with this message. */
async function openProcessLog(options: LogOptions, message: string): Promise<Logger> {
  const { openLog } = await import('./app/log');
  const log = await openLog(options);
  process.on('uncaughtException', (error, origin) => endBy(log, error, origin, message)); // of rejections too
  return log;
}

/**
 * After an uncaught exception the state of the process is not known. It logs the exception and ends at once, so that
 * its supervisor starts it again. What was answered is on disk, or with the API server, and the next start goes on from
 * there.
 */
function endBy(log: Logger, error: unknown, origin: string, message: string): void {
  log.fatal({ err: error, origin }, message);
  process.exit(EXIT_UNEXPECTED);
}

main().catch((error: unknown) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`cpusetd: unexpected error: ${showLines(text)}\n`, () => process.exit(EXIT_UNEXPECTED));
});
