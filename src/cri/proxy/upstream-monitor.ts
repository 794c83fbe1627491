import { connectTo } from '../../net/connect-unix';

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 3_000;
const DELAY_FACTOR = 1.6;

/** Knows whether the runtime's socket can be reached, and after a loss tries again with growing pauses until it can. */
export class RuntimeWatch {
  #isUp: boolean | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `onChange`: once at the first finding, then whenever it changes. */
  constructor(
    readonly path: string,
    readonly onChange: (isUp: boolean) => void,
  ) {}

  /** Undefined as long as nobody tried. */
  get isUp(): boolean | undefined {
    return this.#isUp;
  }

  /** Someone reached the runtime. */
  reportUp(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#set(true);
  }

  /** Someone could not reach it, or lost the connection. */
  reportGone(): void {
    this.#set(false);
    if (this.#timer === undefined) this.#retryAfter(FIRST_DELAY_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #set(isUp: boolean): void {
    if (this.#isClosed || this.#isUp === isUp) return;
    this.#isUp = isUp;
    this.onChange(isUp);
  }

  #retryAfter(delayMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      connectTo(this.path).then(
        (socket) => {
          socket.destroy();
          this.reportUp();
        },
        () => {
          this.#retryAfter(Math.min(delayMs * DELAY_FACTOR, MAX_DELAY_MS));
        },
      );
    }, delayMs);
  }
}
