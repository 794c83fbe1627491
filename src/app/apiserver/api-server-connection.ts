import type { Logger } from 'pino';
import type { HealthState } from '../../admin/health-state';
import type { Connection } from '../../admin/model/status';
import type { Alarms } from '../alarms/alarms';

export interface KubeConnectionParts {
  readonly nodeName: string;
  readonly health: HealthState;
  readonly alarms: Alarms;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now: () => string;
  readonly onChange: () => void;
}

/** An API server that is away for longer is something to look at. */
const AWAY_MS = 60_000;

/** Whether the API server is there: in status and health, in the log when it changes, and an alarm when it is away for long. */
export class KubeConnection {
  current: Connection;
  private away: NodeJS.Timeout | undefined;
  private isAway = false;

  constructor(private readonly parts: KubeConnectionParts) {
    this.current = { state: 'connecting', since: parts.now(), reason: '' };
    parts.signal.addEventListener('abort', () => clearTimeout(this.away), { once: true });
    this.expectNews();
  }

  /** Saying the same again is no news. */
  become(state: 'connecting' | 'ready', reason: string): void {
    const { nodeName, health, alarms, log, now, onChange } = this.parts;
    const before = this.current;
    if (before.state === state && before.reason === reason) return;
    if (state === 'connecting' && reason !== '' && reason !== before.reason)
      log.warn({ reason }, 'no news from the API server: what it told last stays true');
    if (state === 'ready') log.info({ node: nodeName }, 'connected to the API server');
    this.current = { state, reason, since: before.state === state ? before.since : now() };
    health.set('kube', state === 'ready' ? 'SERVING' : 'NOT_SERVING');
    if (state === 'ready') {
      clearTimeout(this.away);
      this.away = undefined;
      this.isAway = false;
      alarms.clear('api-server', '');
    } else {
      if (this.isAway) this.raise();
      this.expectNews();
    }
    onChange();
  }

  /** From the start on: who never hears a word is away too. */
  private expectNews(): void {
    this.away ??= setTimeout(() => this.raise(), AWAY_MS);
  }

  private raise(): void {
    this.isAway = true;
    const { reason } = this.current;
    const because = `no news from the API server: ${reason === '' ? 'it has not answered yet' : reason}`;
    this.parts.alarms.update('api-server', '', because);
  }
}
