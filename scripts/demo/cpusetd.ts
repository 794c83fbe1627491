import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { connectAdmin } from '../../src/admin/client/admin-client';
import { bundle, type Daemon } from '../../test/e2e/rig';
import type { Cpusetd } from './stage';

const SYNCHRONIZED = 'synchronized with the runtime';

/** Observes the built daemon, in a process of its own, through its log, its admin socket and its commands. */
export function watchDaemon(daemon: Daemon): Cpusetd {
  return {
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
    async topology() {
      const args = [bundle, 'topology', '--admin-socket', daemon.adminSocket];
      return (await promisify(execFile)(process.execPath, args)).stdout;
    },
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
