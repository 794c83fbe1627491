import { setImmediate as nextTurn } from 'node:timers/promises';

/** Long work in parts, so that the event loop answers others in between. */
export class TimeSlices {
  private began = performance.now();
  private sumMs = 0;

  /** @param sliceMs the longest part, in ms, as far as the work asks often enough */
  constructor(private readonly sliceMs: number) {}

  /** True when the part has to end: await `rest` then. */
  get isOver(): boolean {
    return performance.now() - this.began >= this.sliceMs;
  }

  /** Time of the work so far, without that of others, in ms. */
  get busyMs(): number {
    return this.sumMs + performance.now() - this.began;
  }

  /** Resolves after others had their turn. */
  async rest(): Promise<void> {
    this.sumMs += performance.now() - this.began;
    await nextTurn();
    this.began = performance.now();
  }
}
