import type { Container } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import type { Verdict } from '../../core/verdict/judge';
import { isLost, type Observation } from '../../core/verdict/observation';
import type { DaemonContext } from '../context';

/**
 * Containers that run and whose cgroup is not found. They are one alarm for the node: where drivers differ all
 * containers are lost together.
 */
export class LostCgroups {
  /** The reasons, by the id of the container. */
  private readonly lost = new Map<string, string>();

  constructor(private readonly context: Pick<DaemonContext, 'alarms' | 'model'>) {}

  /** Notes a verdict on a container with a promise: its cgroup is lost, or is not any more. */
  note(container: Container, { because }: Verdict, observation: Observation): void {
    const { id, promise } = container;
    const isNow =
      promise !== undefined && observation.kind === 'gone' && observation.missing && isLost(observation.missing);
    if (!isNow && !this.lost.delete(id)) return;
    if (isNow && !this.lost.has(id)) {
      const { pod, container: name } = namesIn(this.context.model, container);
      this.lost.set(id, `${pod} ${name}: ${because}`);
    }
    this.updateAlarm();
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.lost.keys()) if (!containers.has(id)) this.lost.delete(id);
    this.updateAlarm();
  }

  private updateAlarm(): void {
    const [first] = this.lost.values();
    const problem = first && `cpusets of containers can be neither seen nor repaired, among them ${first}`;
    this.context.alarms.update('cgroup-not-found', '', problem);
  }
}
