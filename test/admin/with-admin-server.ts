import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HealthState } from '../../src/admin/health-state';
import { listenAt } from '../../src/admin/grpc/listener';
import { startAdminServer, type AdminServer, type AdminServerOptions } from '../../src/admin/server/admin-server';
import { SampleBackend } from './sample-status';

export interface AdminRig {
  readonly folder: string;
  readonly socketPath: string;
  readonly backend: SampleBackend;
  readonly health: HealthState;
  readonly logged: unknown[];
  readonly start: (
    options?: Partial<AdminServerOptions> & { readonly socketPath?: string; readonly podResourcesSocket?: string },
  ) => Promise<AdminServer>;
}

/** Provides a folder and admin servers in it, and closes and removes all of it afterwards. */
export async function withAdminRig(use: (rig: AdminRig) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'adm-'));
  const servers: AdminServer[] = [];
  const logged: unknown[] = [];
  const log = { error: (fact: unknown) => void logged.push(fact), warn: (fact: unknown) => void logged.push(fact) };
  const backend = new SampleBackend();
  const health = new HealthState();
  const socketPath = join(folder, 'a.sock');
  try {
    await use({
      folder,
      socketPath,
      backend,
      health,
      logged,
      start: async ({ socketPath: path = socketPath, podResourcesSocket, ...options } = {}) => {
        const admin = await listenAt(path, (fault) => logged.push(fault));
        const podResources =
          podResourcesSocket === undefined
            ? undefined
            : await listenAt(podResourcesSocket, (fault) => logged.push(fault)).catch((error: unknown) => {
                admin.close();
                throw error;
              });
        const server = startAdminServer({
          listeners: { admin, ...(podResources && { podResources }) },
          kubeletResourcesSocket: join(folder, 'kubelet.sock'),
          backend,
          health,
          log,
          drainMs: 200,
          keepAliveMs: 3_600_000, // of a process that hangs: here both ends share one, which may be busy
          ...options,
        });
        servers.push(server);
        return server;
      },
    });
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}
