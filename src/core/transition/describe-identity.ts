import { chooseIdentity } from '../annotations/cpu-identity';
import { identityOf } from '../identity/cpu-identity';
import { directoryNameOf } from '../identity/where';
import type { CpuIdentity } from '../model/cpu-identity';
import type { RuntimeEvent } from '../model/events';
import { namesOf } from '../model/names-of';
import { resolvePod } from '../model/spec-book';
import type { Draft } from './draft';

/**
 * The facts that a container is created with, if its pod asks for them and the operator offers them. Annotations that
 * are not followed are reported. The container is in the draft, with its promise.
 */
export function describeIdentity(
  draft: Draft,
  { pod, container }: Extract<RuntimeEvent, { kind: 'create-container' }>,
): CpuIdentity | undefined {
  const { model } = draft;
  const { annotations } = resolvePod(model, pod);
  const { isWanted, remarks } = chooseIdentity(model.settings, annotations, container.name);
  const subject = namesOf(pod, container);
  for (const remark of remarks) draft.report({ kind: 'annotation-ignored', subject, ...remark });
  const placed = isWanted ? model.containers.get(container.id) : undefined;
  if (!placed || placed.leftAlone) return undefined;
  if (directoryNameOf(placed) !== undefined) return identityOf(model, placed);
  draft.report({
    kind: 'annotation-ignored',
    subject,
    annotation: 'cpusetd.io/cpu-identity',
    because: 'the container or its sandbox has a name that none has in Kubernetes',
  });
  return undefined;
}
