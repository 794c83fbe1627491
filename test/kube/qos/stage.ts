import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { FakeApiServer } from '../../support/kube/api-server';
import { readRights, readRightsOf } from '../../support/kube/rbac';

export interface Stage {
  readonly server: FakeApiServer;
  readonly client: KubeClient;
  readonly stop: AbortController;
  /** Runs when the stage is closed, before the server stops. */
  onClose(close: () => Promise<void> | void): void;
  close(): Promise<void>;
}

/** A client of a fake API server that enforces the rights of both components of deploy. */
export async function openStage({ without }: { readonly without?: string } = {}): Promise<Stage> {
  const rights = new Set([...readRights({ withOptional: false }), ...readRightsOf('components/qos/rbac.yaml')]);
  if (without !== undefined && !rights.delete(without)) throw new Error(`there is no right ${without}`);
  const server = new FakeApiServer({ rights });
  await server.start();
  const folder = mkdtempSync(join(tmpdir(), 'qos-'));
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, server.kubeconfig);
  const stop = new AbortController();
  const closers: (() => Promise<void> | void)[] = [];
  return {
    server,
    client: new KubeClient({ kind: 'file', path }, stop.signal),
    stop,
    onClose: (close) => void closers.push(close),
    close: async () => {
      stop.abort();
      for (const close of closers.reverse()) await close();
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
