import type { CpuSet } from '../../core/cpuset';
import type { Container } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import { findDisturbance, type Disturbance } from '../../core/verdict/disturbance';
import { describeUnmet } from '../../core/verdict/unmet-request';
import type { DaemonContext } from '../context';
import type { VerdictStore } from '../status/verdict-store';

/**
 * Raises one alarm for the containers that do not have what their requests brought, and one for those that are left
 * alone and may run on CPUs that others own, or of which this stays unknown. Each names the first of them.
 */
export function updateRequestAlarms(
  { model, alarms }: Pick<DaemonContext, 'model' | 'alarms'>,
  verdicts: Pick<VerdictStore, 'get'>,
): void {
  const unmet = model.brought.size === 0 ? [] : describeAll((container) => describeUnmet(model, container));
  alarms.update('not-as-requested', '', nameFirst(unmet));
  const seen = describeAll((container) => {
    const disturbance = disturbanceOf(container);
    return disturbance?.kind === 'seen'
      ? `it is left alone, and may run on exclusive CPUs ${describeOwned(disturbance.cpus)}`
      : undefined;
  });
  const notKnown = describeAll((container) => {
    const disturbance = disturbanceOf(container);
    return disturbance?.kind === 'not-known' && disturbance.isLasting
      ? `it is left alone, and it is not known if it may run on exclusive CPUs of others: ${disturbance.because}`
      : undefined;
  });
  alarms.update('left-alone-disturbs', '', nameFirst([...seen, ...notKnown]));

  function disturbanceOf(container: Container): Disturbance | undefined {
    return container.leftAlone && findDisturbance(model, container, verdicts.get(container.id)?.observation);
  }

  function describeOwned(cpus: CpuSet): string {
    const owner = [...model.assignments.values()].find((each) => each.cpus.overlaps(cpus));
    return `${cpus.toString()}${owner ? ` of ${owner.podNamespace}/${owner.podName} ${owner.containerName}` : ''}`;
  }

  function describeAll(describe: (container: Container) => string | undefined): string[] {
    return [...model.containers.values()].flatMap((container) => {
      const because = describe(container);
      if (because === undefined) return [];
      const { pod, container: name } = namesIn(model, container);
      return [`${pod} ${name}: ${because}`];
    });
  }
}

function nameFirst([first, ...others]: readonly string[]): string | undefined {
  if (first === undefined || others.length === 0) return first;
  return `${first}; and ${others.length} more`;
}
