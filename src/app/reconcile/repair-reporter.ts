import type { Container } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import type { DaemonContext } from '../context';

/** Reports the outcome of each repair. The outcome of one that was left to the runtime is reported when it is known. */
export class RepairReporter {
  /** Containers whose repair was left to the runtime, because the cgroup was not written here. */
  private readonly delegated = new Set<string>();

  constructor(private readonly context: Pick<DaemonContext, 'model' | 'events' | 'log'>) {
    context.events.on('updateFailed', 'noting a failed repair', ({ containerId }) => {
      if (this.delegated.has(containerId)) this.reportFailure(containerId);
    });
  }

  /** The runtime makes the repair. */
  delegate(containerId: string): void {
    this.delegated.add(containerId);
  }

  isDelegated(containerId: string): boolean {
    return this.delegated.has(containerId);
  }

  reportSuccess(containerId: string): void {
    const { model, events, log } = this.context;
    this.delegated.delete(containerId);
    events.emit('repaired', { containerId, outcome: 'ok' });
    const container = model.allContainers.get(containerId);
    if (container) log.info({ ...namesIn(model, container), cpus: container.promise?.cpus.toString() }, 'repaired');
  }

  reportFailure(containerId: string): void {
    this.context.events.emit('repaired', { containerId, outcome: 'failed' });
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.delegated) if (!containers.has(id)) this.delegated.delete(id);
  }
}
