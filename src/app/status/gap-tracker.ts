import type { Logger } from 'pino';
import type { Gap } from '../../admin/model/status';
import type { DomainEvent } from '../../core/transition';
import type { DaemonContext } from '../context';
import { StallDetector } from '../lifecycle/stall-detector';

export interface GapParts {
  readonly log: Logger;
  /** The gap is over: for metrics. */
  readonly onEnded: (gap: { readonly seconds: number; readonly containers: number }) => void;
  /** Age of the stall of this process that has just ended, in ms; 0 without one. */
  readonly stalledForMs: () => number;
  /** The wall clock, in ms since 1970. */
  readonly wallMs?: () => number;
  /** The monotonic clock, in ms. */
  readonly steadyMs?: () => number;
}

/** Maximum number of names that are kept; all are in the log. */
const MAX_NAMES = 20;

interface OpenGap {
  /** The beginning by the wall clock, as it was set then. */
  readonly fromMs: number;
  /** The same moment by the monotonic clock. */
  readonly beganMs: number;
  containers: number;
  readonly names: string[];
}

/**
 * Tracks the time in which containers could start without cpusetd: from the last heartbeat of the process before, or
 * from the loss of the connection, until the runtime has listed all containers. Containers that are found unpinned then
 * are put right by the same transaction, before its answer.
 *
 * A process that was stopped notices the loss when it runs again: its gap begins where it stopped. Setting the clock
 * meanwhile does not change the length of a gap.
 */
export class GapTracker {
  private readonly wallMs: () => number;
  private readonly steadyMs: () => number;
  private open: OpenGap | undefined;
  private last: Gap | undefined;

  /** A gap is open at the start; it began at `fromMs` by the wall clock. */
  constructor(
    private readonly parts: GapParts,
    fromMs: number,
  ) {
    this.wallMs = parts.wallMs ?? (() => Date.now());
    this.steadyMs = parts.steadyMs ?? (() => performance.now());
    this.open = this.since(Math.max(0, this.wallMs() - fromMs));
  }

  /** The gap that lasts, else the last one that is over. */
  get current(): Gap | undefined {
    if (!this.open) return this.last;
    const { fromMs, containers, names } = this.open;
    return { from: toTime(fromMs), containers, names: [...names] };
  }

  /** The runtime no longer sends us its containers. */
  begin(): void {
    this.open ??= this.since(this.parts.stalledForMs());
  }

  /**
   * Counts the containers that a transaction found unpinned. Those that are found later are no gap's: the log has them.
   */
  note(events: readonly DomainEvent[]): void {
    const { open } = this;
    if (!open) return;
    for (const event of events) {
      if (event.kind !== 'found-unpinned') continue;
      open.containers++;
      const { pod, container } = event.subject;
      if (open.names.length < MAX_NAMES) open.names.push(`${pod}/${container}`);
    }
  }

  /** The runtime sends us every container again. */
  end(): void {
    if (!this.open) return;
    const { fromMs, beganMs, containers, names } = this.open;
    this.open = undefined;
    const lastedMs = this.steadyMs() - beganMs;
    const seconds = lastedMs / 1000;
    this.last = { from: toTime(fromMs), to: toTime(fromMs + lastedMs), containers, names };
    const level = containers > 0 ? 'warn' : 'info';
    this.parts.log[level](
      { from: this.last.from, seconds, containers, names },
      'the gap is closed: containers that started meanwhile are on their CPUs now',
    );
    this.parts.onEnded({ seconds, containers });
  }

  private since(agoMs: number): OpenGap {
    return { fromMs: this.wallMs() - agoMs, beganMs: this.steadyMs() - agoMs, containers: 0, names: [] };
  }
}

/** Opens the gap of the start: it began at `fromMs`, in ms since 1970. */
export function openGap(
  { log, events, signal }: Pick<DaemonContext, 'log' | 'events' | 'signal'>,
  fromMs: number,
): GapTracker {
  const stall = new StallDetector({ signal });
  const onEnded: GapParts['onEnded'] = (ended) => events.emit('gapEnded', ended);
  return new GapTracker({ log, onEnded, stalledForMs: () => stall.stalledForMs() }, fromMs);
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
