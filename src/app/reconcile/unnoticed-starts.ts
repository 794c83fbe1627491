import { namesIn } from '../../core/model/names-of';
import { infoOf, type Container } from '../../core/model/container';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';

const BECAUSE = 'a process is in its cgroup, or may be, and the runtime has not reported its start';

/**
 * Finds containers that run although the event of their start was lost. A container is judged from its start on, so
 * without it none of them would ever be checked. The kernel shows it, whatever the runtime does.
 */
export class UnnoticedStarts {
  /** Containers that had not started in the look before: an event may take a moment. */
  private waiting: ReadonlySet<string> = new Set();

  constructor(private readonly parts: { readonly context: DaemonContext; readonly transactor: Transactor }) {}

  /** Call it in every round. */
  look(): void {
    const { model, faults } = this.parts.context;
    const notStarted = [...model.containers.values()].filter(
      ({ phase }) => phase === 'creating' || phase === 'created',
    );
    for (const container of notStarted)
      if (this.waiting.has(container.id))
        faults.contain('looking for the start of', () => this.lookAt(container), container.id);
    this.waiting = new Set(notStarted.map(({ id }) => id));
  }

  private lookAt(container: Container): void {
    const { context, transactor } = this.parts;
    const pod = context.model.pods.get(container.sandboxId);
    if (!pod || !this.mayRun(container)) return;
    context.log.warn({ ...namesIn(context.model, container), because: BECAUSE }, 'a container counts as started');
    transactor.handle({ kind: 'container-started', pod, container: { ...infoOf(container), phase: 'running' } });
  }

  private mayRun(container: Container): boolean {
    const { files } = this.parts.context.cgroups;
    const located = files.locate(container);
    if (located.kind !== 'found') return false;
    const listed = files.listThreads(located.path, { maxThreads: 1 });
    // It is there, so the runtime has made it. The sweep says what is not known of it, and raises the alarm.
    if (listed.kind === 'error') return true;
    return listed.kind === 'found' && listed.threads.length + listed.hidden > 0;
  }
}
