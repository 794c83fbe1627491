/** The states of a connection; `ready` = it is in use. */
export type ConnectionState = 'off' | 'connecting' | 'synchronizing' | 'ready';

/** A connection to a peer, as status shows it. */
export interface Connection {
  readonly state: ConnectionState;
  /** Begin of this state, RFC 3339; a new reason alone does not change it. */
  readonly since: string;
  /** For the operator; empty when there is nothing to explain. */
  readonly reason: string;
}

/** The current state of one connection. */
export class ConnectionTracker {
  /** `now`: the clock, RFC 3339. */
  constructor(
    private connection: Connection,
    private readonly now: () => string = () => new Date().toISOString(),
  ) {}

  get current(): Connection {
    return this.connection;
  }

  /** Returns true when the state or the reason has changed. */
  become(state: ConnectionState, reason = ''): boolean {
    const before = this.connection;
    if (before.state === state && before.reason === reason) return false;
    this.connection = { state, since: before.state === state ? before.since : this.now(), reason };
    return true;
  }
}

/** The last problem, so that one that lasts is logged once, and again when it changes or comes back. */
export class LastProblem {
  private reason = '';

  /** True while there is a problem. */
  get isSet(): boolean {
    return this.reason !== '';
  }

  /** Remembers the problem; returns true when it is another one than before, and has to be logged. */
  isNew(reason: string): boolean {
    const isNew = reason !== this.reason;
    this.reason = reason;
    return isNew;
  }

  /** The problem is over. Returns true when there was one. */
  clear(): boolean {
    return this.reason !== '' && this.isNew('');
  }
}
