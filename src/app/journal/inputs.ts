import { infoOf } from '../../core/model/container';
import type { NodeEvent, PodInfo } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-view';
import type { NewRecord } from '../../state/journal';
import type { Transaction } from '../transaction/transaction';

const record = (facts: Readonly<Record<string, unknown>>): NewRecord => ({ kind: 'input', ...facts });

/**
 * Makes records of the events that decisions follow from, so that `cpusetd replay` can decide again. Events that change no placement are left out,
 * and so is the end of a container or pod whose beginning is not in the journal.
 */
export class InputRecorder {
  private readonly containerIds = new Set<string>();
  private readonly sandboxIds = new Set<string>();

  constructor(private readonly view: Pick<NodeView, 'pods' | 'containers' | 'podSpecs'>) {}

  /** Number of pods and containers whose beginning is in the journal and whose end is not. */
  get open(): number {
    return this.containerIds.size + this.sandboxIds.size;
  }

  /** The records of an event; none for a change of our own making, and for news of how a request ended. */
  of({ request, timing, answer }: Pick<Transaction, 'request' | 'timing' | 'answer'>): readonly NewRecord[] {
    return request && timing ? this.describe(request, answer.kind === 'ok') : [];
  }

  /** The node as it is, for the beginning of a file. */
  *list(): Generator<NewRecord> {
    const { view } = this;
    for (const pod of view.pods.values()) {
      const { stopped: _stopped, ...info } = pod;
      yield record({ of: 'pod', info });
    }
    for (const container of view.containers.values())
      yield record({ of: 'container', info: infoOf(container), cpus: container.promise?.cpus });
    for (const spec of view.podSpecs.values()) yield record({ of: 'spec', spec });
    yield record({ of: 'listed', start: true });
  }

  private describe(event: NodeEvent, isGranted: boolean): readonly NewRecord[] {
    switch (event.kind) {
      case 'create-container': {
        const { counts: _counts, ...request } = event;
        if (isGranted) this.containerIds.add(event.container.id);
        return [...this.addPod(event.pod), record({ of: 'event', event: request })];
      }
      case 'update-container': {
        const { counts: _counts, ...request } = event;
        return [record({ of: 'event', event: request })];
      }
      case 'container-named': {
        if (this.containerIds.delete(event.temporaryId)) this.containerIds.add(event.containerId);
        return [record({ of: 'event', event })];
      }
      case 'container-started': {
        const { kind, container } = event;
        if (!this.containerIds.has(container.id)) return [];
        return [record({ of: 'event', event: { kind, containerId: container.id } })];
      }
      case 'container-stopped':
      case 'container-removed':
        return this.containerIds.delete(event.containerId) ? [record({ of: 'event', event })] : [];
      case 'pod-started':
        return this.addPod(event.pod);
      case 'pod-stopped':
        return this.sandboxIds.has(event.sandboxId) ? [record({ of: 'event', event })] : [];
      case 'pod-removed':
        return this.sandboxIds.delete(event.sandboxId) ? [record({ of: 'event', event })] : [];
      case 'pod-spec':
      case 'pod-spec-gone':
        return [record({ of: 'event', event })];
      case 'pod-specs':
        return event.specs.map((spec) => record({ of: 'event', event: { kind: 'pod-spec', spec } }));
      case 'synchronize': {
        this.forgetGone();
        for (const { sandboxId } of event.pods) this.sandboxIds.add(sandboxId);
        for (const { id } of event.containers) this.containerIds.add(id);
        return [
          ...event.pods.map((info) => record({ of: 'pod', info })),
          ...event.containers.map((info) => record({ of: 'container', info })),
          record({ of: 'listed' }),
        ];
      }
      default:
        return [];
    }
  }

  /** Forgets those whose end was not seen. */
  private forgetGone(): void {
    for (const id of this.containerIds) if (!this.view.containers.has(id)) this.containerIds.delete(id);
    for (const id of this.sandboxIds) if (!this.view.pods.has(id)) this.sandboxIds.delete(id);
  }

  /** A sandbox is told once; its containers come later, and name it. */
  private addPod(pod: PodInfo): readonly NewRecord[] {
    if (this.sandboxIds.has(pod.sandboxId)) return [];
    this.sandboxIds.add(pod.sandboxId);
    return [record({ of: 'event', event: { kind: 'pod-started', pod } })];
  }
}
