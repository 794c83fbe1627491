import { ConnectionTracker, type Connection } from '../../net/connection-state';
import type { DaemonContext } from '../context';
import type { KubeAccess } from './kube-access';

export interface ApiServerConnectionParts {
  readonly context: Pick<DaemonContext, 'health' | 'alarms' | 'events' | 'now'>;
  readonly access: Pick<KubeAccess, 'nodeName' | 'log' | 'signal'>;
}

/** An API server that does not answer for longer is an alarm. */
const AWAY_MS = 60_000;

/** Shows the connection to the API server in status, health and log, and raises an alarm when it is away for long. */
export class ApiServerConnection {
  private readonly tracker: ConnectionTracker;
  private away: NodeJS.Timeout | undefined;
  private isAway = false;

  constructor(private readonly parts: ApiServerConnectionParts) {
    const { context, access } = parts;
    this.tracker = new ConnectionTracker({ state: 'connecting', since: context.now(), reason: '' }, context.now);
    access.signal.addEventListener('abort', () => clearTimeout(this.away), { once: true });
    this.startTimer();
  }

  get current(): Connection {
    return this.tracker.current;
  }

  /** Does nothing when the state and the reason are the same as before. */
  become(state: 'connecting' | 'ready', reason: string): void {
    const { access, context } = this.parts;
    const { health, alarms, events } = context;
    const before = this.current.reason;
    if (!this.tracker.become(state, reason)) return;
    if (state === 'connecting' && reason !== '' && reason !== before)
      access.log.warn({ reason }, 'no news from the API server: its last word stays true');
    if (state === 'ready') access.log.info({ node: access.nodeName }, 'connected to the API server');
    health.set('kube', state === 'ready' ? 'SERVING' : 'NOT_SERVING');
    if (state === 'ready') {
      clearTimeout(this.away);
      this.away = undefined;
      this.isAway = false;
      alarms.clear('api-server', '');
    } else {
      if (this.isAway) this.raise();
      this.startTimer();
    }
    events.emit('changed');
  }

  /** Runs from the start on: an API server that never answers is away too. */
  private startTimer(): void {
    this.away ??= setTimeout(() => this.raise(), AWAY_MS);
  }

  private raise(): void {
    this.isAway = true;
    const { reason } = this.current;
    const because = `no news from the API server: ${reason === '' ? 'it has not answered yet' : reason}`;
    this.parts.context.alarms.update('api-server', '', because);
  }
}
