import type { Logger } from 'pino';
import type { HealthState } from '../admin/health-state';
import type { Connection } from '../admin/status';
import type { Alarms } from './alarms';

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

  constructor(private readonly parts: KubeConnectionParts) {
    this.current = { state: 'connecting', since: parts.now(), reason: '' };
    parts.signal.addEventListener('abort', () => clearTimeout(this.away), { once: true });
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
      alarms.clear('api-server', '');
    } else {
      this.away ??= setTimeout(
        () => alarms.raise('api-server', '', `no news from the API server: ${this.current.reason}`),
        AWAY_MS,
      );
    }
    onChange();
  }
}
