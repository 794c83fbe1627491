import type { ContainerStatus, Status, StatusChange } from '../admin/status';

type Listener = (change: StatusChange) => void;

/**
 * Tells watchers what changed. Costs nothing while nobody watches; with watchers, everything that happens within one
 * turn of the event loop is told once.
 */
export class StatusFeed {
  private readonly listeners = new Set<Listener>();
  private shown: { node: string; idle: string; containers: Map<string, string> } | undefined;
  private scheduled = false;

  constructor(private readonly status: () => Status) {}

  watch(listener: Listener): () => void {
    this.listeners.add(listener);
    this.shown ??= remember(this.status());
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.shown = undefined;
    };
  }

  /** Something may have changed. */
  touch(): void {
    if (this.listeners.size === 0 || this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.tell();
    });
  }

  private tell(): void {
    if (!this.shown) return;
    const status = this.status();
    const next = remember(status);
    const before = this.shown;
    this.shown = next;
    if (next.node !== before.node) this.emit({ kind: 'node', node: status.node });
    for (const container of status.containers) {
      if (next.containers.get(container.id) !== before.containers.get(container.id))
        this.emit({ kind: 'container', container });
    }
    for (const id of before.containers.keys())
      if (!next.containers.has(id)) this.emit({ kind: 'container-removed', id });
    if (next.idle !== before.idle) this.emit({ kind: 'idle', idle: status.idle });
  }

  private emit(change: StatusChange): void {
    for (const listener of this.listeners) listener(change);
  }
}

function remember({ node, containers, idle }: Status) {
  return {
    node: JSON.stringify(node),
    idle: JSON.stringify(idle),
    containers: new Map(containers.map((container) => [container.id, fingerprint(container)])),
  };
}

/** All of it but the time of the last look, which is no change. */
function fingerprint({ observation, ...container }: ContainerStatus): string {
  return JSON.stringify([
    container,
    observation?.cpus,
    observation?.effectiveCpus,
    observation?.mems,
    observation?.quotaUs,
    observation?.podQuotaUs,
    observation?.threads,
  ]);
}
