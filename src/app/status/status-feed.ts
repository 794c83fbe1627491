import type { ContainerStatus, Status, StatusChange } from '../../admin/model/status';
import { CpuSet } from '../../core/cpuset';
import type { Faults } from '../alarms/faults';

type Listener = (change: StatusChange) => void;

/**
 * Sends changes to watchers. It costs nothing without watchers. With watchers, all changes of one turn of the event
 * loop are sent once, and only objects that are not identical with those before are compared. If the status can't be
 * made, the changes are sent with the next touch. A watcher that fails stops no other.
 */
export class StatusFeed {
  private readonly listeners = new Set<Listener>();
  private sent: Sent | undefined;
  private scheduled = false;

  constructor(
    private readonly status: () => Status,
    private readonly faults: Faults,
  ) {}

  watch(listener: Listener): () => void {
    this.listeners.add(listener);
    this.sent ??= index(this.status());
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.sent = undefined;
    };
  }

  /** Something may have changed. */
  touch(): void {
    if (this.listeners.size === 0 || this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.faults.contain('finding what has changed', () => this.sendChanges());
    });
  }

  private sendChanges(): void {
    const before = this.sent;
    if (!before) return;
    const { status: then } = before;
    const now = this.status();
    const next = now.containers === then.containers ? { ...before, status: now } : index(now);
    this.sent = next;
    if (!same(now.node, then.node)) this.emit({ kind: 'node', node: now.node });
    if (next.containers !== before.containers) {
      for (const container of now.containers)
        if (!sameButTime(before.containers.get(container.id), container)) this.emit({ kind: 'container', container });
      for (const id of before.containers.keys())
        if (!next.containers.has(id)) this.emit({ kind: 'container-removed', id });
    }
    if (!same(now.idle, then.idle)) this.emit({ kind: 'idle', idle: now.idle });
  }

  private emit(change: StatusChange): void {
    for (const listener of this.listeners) this.faults.contain('updating a watcher', () => listener(change));
  }
}

interface Sent {
  readonly status: Status;
  readonly containers: ReadonlyMap<string, ContainerStatus>;
}

function index(status: Status): Sent {
  return { status, containers: new Map(status.containers.map((container) => [container.id, container])) };
}

/** Compares all but the time of the last observation, which is no change. */
function sameButTime(a: ContainerStatus | undefined, b: ContainerStatus): boolean {
  if (a === b) return true;
  if (a === undefined) return false;
  const [{ observation: seen, ...rest }, { observation: seenNow, ...restNow }] = [a, b];
  return same(rest, restNow) && same(seen && { ...seen, at: '' }, seenNow && { ...seenNow, at: '' });
}

/** Deep equality; CPU sets are compared by their CPUs. */
function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof CpuSet || b instanceof CpuSet) return a instanceof CpuSet && b instanceof CpuSet && a.equals(b);
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return (
    keys.length === others.length &&
    keys.every((key) => same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
  );
}
