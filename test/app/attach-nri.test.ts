import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import pino from 'pino';

import { HealthState } from '../../src/admin/health-state';
import type { Attachment, AttachmentParts } from '../../src/app/attachment';
import { attachNri } from '../../src/app/attach-nri';
import { NriRuntime } from '../support/nri-runtime';

let folder: string;
let stop: AbortController;
let attachment: Attachment | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'attach-'));
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await attachment?.ended;
  rmSync(folder, { recursive: true });
});

/** Attached to what listens at the socket; nothing of the node is there, and nothing is asked of it. */
function attach(): { health: HealthState; attachment: Attachment } {
  const health = new HealthState();
  attachment = attachNri({
    config: { nriSocket: join(folder, 'nri.sock'), nriPluginName: 'cpusetd', nriPluginIndex: '50' },
    transactor: { handle: () => ({ kind: 'ok' }) },
    gap: { begin: () => undefined, end: () => undefined },
    link: { connection: { state: 'off', since: '', reason: '' } },
    health,
    log: pino({ level: 'silent' }),
    signal: stop.signal,
    startedAt: '2026-01-01T00:00:00Z',
    onChange: () => undefined,
  } as unknown as AttachmentParts);
  return { health, attachment };
}

describe('the first contact', () => {
  test('is had when the runtime has told of its containers, and health says so by then', async () => {
    const runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
    const { attachment, health } = attach();
    expect(health.get('nri')).toBe('NOT_SERVING');
    await attachment.firstContact;
    expect(health.get('nri')).toBe('SERVING');
    await runtime.close();
  });

  test('is over at once when there is no socket', async () => {
    const { attachment, health } = attach();
    await attachment.firstContact;
    expect(health.get('nri')).toBe('NOT_SERVING');
    expect(attachment.facts.nri.reason).toContain('nri.sock');
  });

  test('is still to come while a runtime that took the connection says nothing', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(join(folder, 'nri.sock'));
    const connected = new Promise((resolve) => server.once('connection', resolve));
    const { attachment } = attach();
    await connected;
    const waiting = Symbol('waiting');
    expect(await Promise.race([attachment.firstContact, turn(waiting)])).toBe(waiting);
    stop.abort();
    await attachment.ended;
    server.close();
  });
});
