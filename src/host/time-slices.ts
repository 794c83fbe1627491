import { setImmediate as nextTurn } from 'node:timers/promises';

/** Long work in parts, so that the event loop answers others in between. */
export class TimeSlices {
  private began = performance.now();

  /** @param sliceMs the longest part, in ms, as far as the work asks often enough */
  constructor(private readonly sliceMs: number) {}

  /** True when the part has to end: await `rest` then. */
  get isOver(): boolean {
    return performance.now() - this.began >= this.sliceMs;
  }

  /** Resolves after others had their turn. */
  async rest(): Promise<void> {
    await nextTurn();
    this.began = performance.now();
  }
}
