import type { Container } from '../../core/model/container';
import { EarliestTimer } from '../../net/earliest-timer';
import { logFault } from '../alarms/faults';
import { COLLECT_MS, RecordSchedule } from './record-schedule';
import { needsRecord } from './record-state';
import { RecordWriter, type RecordWriterParts } from './record-writer';

export interface RecordSyncParts extends RecordWriterParts {
  /**
   * True while a call about the container is under way in which an update would be lost. The update is sent afterwards.
   */
  readonly isBusy?: (containerId: string) => boolean;
  /** The runtime is making a sandbox or a container that the model does not show yet. */
  readonly isMaking?: () => boolean;
}

/**
 * Lets the runtime's own record follow the promises, in the background: so that the next update that passes through the
 * runtime, and systemd, find the same cpuset that the kernel has.
 *
 * Always writes the latest promise. Where the kernel has it already, the record gives way to the containers that the
 * runtime makes: each update takes the runtime some 10 ms. A caller waits only where the runtime is the one way to move
 * a container (`flush`).
 */
export class RecordSync {
  private readonly queue = new RecordSchedule();
  private readonly writer: RecordWriter;
  private readonly look: EarliestTimer;
  private readonly next: EarliestTimer;

  constructor(private readonly parts: RecordSyncParts) {
    const { signal } = parts;
    this.writer = new RecordWriter(parts, (id, write) => this.onWritten(id, write));
    this.look = new EarliestTimer(() => this.contain(() => this.findBehind()), signal);
    this.next = new EarliestTimer(() => this.contain(() => this.writeDue()), signal);
  }

  /** True when an update of this container that passes through the runtime now is our own. */
  isUpdating(containerId: string): boolean {
    return this.writer.isWriting(containerId);
  }

  /**
   * Has the runtime write what these containers are promised, and waits for that; also where something older is being
   * written. Resolves with a failure about one of these, or undefined; a container that is gone is no failure.
   */
  flush(containerIds: readonly string[]): Promise<unknown> {
    return this.writer.flush(containerIds);
  }

  /** Looks soon for records that are behind. Cheap; call it after every change. */
  schedule(): void {
    this.look.startIn(COLLECT_MS);
  }

  /** An event of the runtime arrived; its work comes before ours. */
  noteEvent(kind: string): void {
    this.queue.noteEvent(kind, performance.now());
  }

  /** Never throws: a fault keeps this look from being made, and the next change makes another. */
  private contain(act: () => void): void {
    try {
      if (!this.parts.signal.aborted) act();
    } catch (error) {
      logFault(this.parts.log, 'runtime records were not looked at', error);
    }
  }

  /** Looks through all containers: once for the changes of `COLLECT_MS`, however many they were. */
  private findBehind(): void {
    const { containers } = this.parts.model;
    this.writer.keepOnly(containers);
    this.queue.refresh(containers, performance.now());
    for (const container of containers.values()) this.add(container);
    this.writeDue();
  }

  private add(container: Container): void {
    const { id } = container;
    if (!needsRecord(container) || this.writer.isWriting(id)) return;
    const waitMs = this.writer.notBeforeMs(id) - performance.now();
    if (waitMs > 0) this.look.startIn(waitMs);
    else this.queue.add(container);
  }

  private writeDue(): void {
    const isMaking = (): boolean => this.parts.isMaking?.() === true;
    for (;;) {
      const state = { nowMs: performance.now(), inFlight: this.writer.inFlightCount, isMaking };
      const next = this.queue.takeNext(state);
      if (next && 'delayMs' in next) this.next.startIn(next.delayMs);
      if (!next || 'delayMs' in next) return;
      this.writeOne(next.containerId);
    }
  }

  private writeOne(id: string): void {
    const { model, isBusy, log } = this.parts;
    const container = model.containers.get(id);
    if (!needsRecord(container) || this.writer.isWriting(id)) return;
    if (isBusy?.(id) === true) this.look.startIn(COLLECT_MS);
    else this.writer.write(container).catch((error: unknown) => logFault(log, 'a runtime record was left', error));
  }

  private onWritten(id: string, write: { readonly endMs: number; readonly tookMs: number }): void {
    this.queue.noteWritten(write);
    this.contain(() => {
      const now = this.parts.model.containers.get(id);
      if (now) this.add(now);
      this.writeDue();
    });
  }
}
