import type { Container } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import { describeUnmet } from '../../core/verdict/unmet-request';
import type { DaemonContext } from '../context';
import type { VerdictStore } from '../status/verdict-store';

/**
 * Raises one alarm for the containers that do not have what their requests brought, and one for those that are left alone and may run on CPUs that
 * others own. Each names the first of them.
 */
export function updateRequestAlarms(
  { model, alarms }: Pick<DaemonContext, 'model' | 'alarms'>,
  verdicts: Pick<VerdictStore, 'get'>,
): void {
  const unmet = model.brought.size === 0 ? [] : describeAll((container) => describeUnmet(model, container));
  alarms.update('not-as-requested', '', nameFirst(unmet));
  const disturbing = describeAll((container) => {
    const observation = container.leftAlone && verdicts.get(container.id)?.observation;
    const runsOn = observation?.kind === 'seen' ? observation.effective.intersect(model.exclusive) : undefined;
    if (!runsOn || runsOn.isEmpty) return undefined;
    const owner = [...model.assignments.values()].find(({ cpus }) => cpus.overlaps(runsOn));
    const owned = owner ? ` of ${owner.podNamespace}/${owner.podName} ${owner.containerName}` : '';
    return `it is left alone, and may run on exclusive CPUs ${runsOn.toString()}${owned}`;
  });
  alarms.update('left-alone-disturbs', '', nameFirst(disturbing));

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
