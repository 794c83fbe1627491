import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { connectAdmin } from '../../src/admin/client/admin-client';
import { bundle, type Daemon, type LogLine } from '../../test/e2e/rig';
import type { Cpusetd } from './stage';

const SYNCHRONIZED = 'synchronized with the runtime';

/** A daemon that can also be asked by its commands, from any terminal. */
export interface ReachableDaemon extends Cpusetd {
  readonly adminSocket: string;
  readonly stateDir: string;
  /** Resolves when it serves the runtime and its socket. */
  ready(): Promise<void>;
  /** The output of a command of cpusetd about this daemon: an error too. */
  ask(...command: string[]): Promise<string>;
  /** Its log, from the start of the process on. */
  readonly log: readonly LogLine[];
  /** Waits for a line of its log; see the rig. */
  readonly waitForLog: Daemon['waitForLog'];
}

/** Observes the built daemon, in a process of its own, through its log, its admin socket and its commands. */
export function watchDaemon(daemon: Daemon): ReachableDaemon {
  const run = promisify(execFile);
  const runCommand = (args: readonly string[]): Promise<{ stdout: string; stderr: string }> =>
    run(process.execPath, [bundle, ...args, '--admin-socket', daemon.adminSocket]);
  return {
    adminSocket: daemon.adminSocket,
    stateDir: daemon.stateDir,
    log: daemon.log.lines,
    ready: () => daemon.ready(),
    waitForLog: (accepts, options) => daemon.waitForLog(accepts, options),
    ask: (...command) =>
      runCommand(command).then(
        ({ stdout, stderr }) => stdout + stderr,
        (error: unknown) => {
          const { stdout, stderr } = error as { stdout: string; stderr: string };
          return stdout + stderr;
        },
      ),
    async health(service) {
      try {
        const client = await connectAdmin(daemon.adminSocket);
        try {
          return (await client.checkHealth(service)) ?? 'a service that it does not know';
        } finally {
          client.close();
        }
      } catch (error) {
        return (error as Error).message;
      }
    },
    async decision(container) {
      const line = await daemon.waitForLog((entry) => entry.msg === 'pinned' && entry.container === container);
      return { cpus: String(line.cpus), because: String(line.because) };
    },
    drift: () =>
      daemon.waitForLog('drifted').then(
        ({ because }) => String(because),
        (error: unknown) => (error as Error).message,
      ),
    topology: async () => (await runCommand(['topology'])).stdout,
    kill: async () => String(await daemon.kill()),
    async startAgain() {
      const from = daemon.mark();
      daemon.start();
      const restored = await daemon.waitForLog('state restored', { from });
      await daemon.waitForLog(SYNCHRONIZED, { from });
      return String(restored.assignments);
    },
  };
}

/** Ends the daemon. Gives the processes and files that it leaves behind. */
export async function endDaemon(daemon: Daemon | undefined): Promise<string[]> {
  if (!daemon) return [];
  await daemon.dispose();
  return [...(daemon.outcome === undefined ? [`process ${daemon.pid}`] : []), ...listThere(daemon.dir)];
}

/** The paths that exist. */
export const listThere = (...paths: readonly string[]): string[] => paths.filter((path) => existsSync(path));
