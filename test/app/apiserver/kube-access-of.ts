import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';

import type { KubeAccess } from '../../../src/app/apiserver/kube-access';
import { KubeClient } from '../../../src/kube';
import { FakeApiServer } from '../../support/kube/api-server';

export interface KubeStage {
  readonly server: FakeApiServer;
  /** The access of the node `n1` to the server. It ends when `end` is aborted. */
  readonly access: KubeAccess;
  readonly end: AbortController;
}

/** Starts an API server for one test, and stops it afterwards. */
export async function withKubeAccess(use: (stage: KubeStage) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kube-'));
  const server = new FakeApiServer();
  const end = new AbortController();
  try {
    await server.start();
    const path = join(folder, 'kubeconfig');
    writeFileSync(path, server.kubeconfig);
    const client = new KubeClient({ kind: 'file', path }, end.signal);
    const access = { client, nodeName: 'n1', log: pino({ level: 'silent' }), signal: end.signal };
    await use({ server, access, end });
  } finally {
    end.abort();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}
