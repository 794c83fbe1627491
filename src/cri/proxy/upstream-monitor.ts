import { BackOff } from '../../net/back-off';
import { connectTo } from '../../net/connect-unix';

/**
 * Decides whether the runtime is there, which means that its socket can be reached. It is the only one who does: others report
 * to it what they met, and subscribe to what it decides. After a loss it tries again with growing pauses.
 */
export class UpstreamMonitor {
  #isUp: boolean | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #backOff = new BackOff({ leastMs: 100, mostMs: 3_000, factor: 1.6, jitter: 0 });
  readonly #listeners: ((isUp: boolean) => void)[] = [];

  /** `path`: the runtime's socket. */
  constructor(readonly path: string) {}

  /** Undefined before the first attempt to reach it. */
  get isUp(): boolean | undefined {
    return this.#isUp;
  }

  /** The listener is called once at the first finding, then at each change. */
  subscribe(listener: (isUp: boolean) => void): void {
    this.#listeners.push(listener);
  }

  /** Someone reached the runtime. */
  reportUp(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#backOff.reset();
    this.#set(true);
  }

  /** Someone could not reach it, or lost the connection. */
  reportGone(): void {
    this.#set(false);
    if (this.#timer === undefined) this.#retry();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #set(isUp: boolean): void {
    if (this.#isClosed || this.#isUp === isUp) return;
    this.#isUp = isUp;
    for (const listener of this.#listeners) listener(isUp);
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      connectTo(this.path).then(
        (socket) => {
          socket.destroy();
          this.reportUp();
        },
        () => this.#retry(),
      );
    }, this.#backOff.next());
  }
}
