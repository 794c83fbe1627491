import { BackOff } from '../../net/back-off';
import { connectTo } from '../../net/connect-unix';

/**
 * The one place that decides if the runtime is up, which means that its socket accepts connections. Others report their
 * findings to it and subscribe to its state. After a loss it tries again with growing pauses.
 */
export class UpstreamMonitor {
  private state: boolean | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private readonly backOff = new BackOff({ leastMs: 100, mostMs: 3_000, factor: 1.6, jitter: 0 });
  private readonly listeners: ((isUp: boolean) => void)[] = [];

  /** `path`: the runtime's socket. */
  constructor(readonly path: string) {}

  /** Undefined before the first attempt to reach it. */
  get isUp(): boolean | undefined {
    return this.state;
  }

  /** Calls the listener at the first finding, then at each change. */
  subscribe(listener: (isUp: boolean) => void): void {
    this.listeners.push(listener);
  }

  /** Reports that the runtime was reached. */
  reportUp(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.backOff.reset();
    this.set(true);
  }

  /** Reports that the runtime could not be reached, or that a connection was lost. */
  reportGone(): void {
    this.set(false);
    if (this.timer === undefined) this.retry();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private set(isUp: boolean): void {
    if (this.isClosed || this.state === isUp) return;
    this.state = isUp;
    for (const listener of this.listeners) listener(isUp);
  }

  private retry(): void {
    if (this.isClosed) return;
    this.timer = setTimeout(() => {
      connectTo(this.path).then(
        (socket) => {
          socket.destroy();
          this.reportUp();
        },
        () => this.retry(),
      );
    }, this.backOff.next());
  }
}
