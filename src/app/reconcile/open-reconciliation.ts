import type { DaemonContext } from '../context';
import type { VerdictStore } from '../status/verdict-store';
import { PostCommit } from '../transaction/post-commit';
import type { Transactor } from '../transaction/transactor';
import { DriftDiagnosis } from './drift-diagnosis';
import { DriftWatch } from './drift-watch';
import { Reconciler } from './reconciler';
import type { ListedRuntime } from './runtime-comparison';

export interface ReconciliationParts {
  readonly context: DaemonContext;
  readonly transactor: Transactor;
  readonly verdicts: VerdictStore;
  readonly runtime: ListedRuntime;
  /** True when an update of this container that passes through the runtime now is our own. */
  readonly isOwnUpdate: (containerId: string) => boolean;
  readonly hasStaticKubelet: () => boolean;
}

export interface Reconciliation {
  readonly reconciler: Reconciler;
  readonly watch: DriftWatch;
}

/** Opens all that compares promises with the kernel, and lets it follow every transaction. */
export function openReconciliation(parts: ReconciliationParts): Reconciliation {
  const { context, isOwnUpdate, hasStaticKubelet } = parts;
  const { events, cgroups } = context;
  const diagnosis = new DriftDiagnosis({ ...context, hasStaticKubelet });
  events.on('decided', 'noting updates of others', ({ request }) => {
    if (request?.kind === 'update-container' && !isOwnUpdate(request.container.id))
      diagnosis.noteUpdate(request.container.id, performance.now());
  });
  const reconciler = new Reconciler({ ...parts, diagnosis });
  const watch = new DriftWatch({ context, reconciler });
  const postCommit = new PostCommit({
    ...context,
    widenPod: (pod) => cgroups.widenPod(pod),
    watch: (ids) => watch.follow(ids),
    check: (ids) => reconciler.check(ids),
    readBack: (ids, urgency) => reconciler.readBack(ids, urgency),
  });
  events.on('decided', 'following a transaction', (done) => postCommit.begin(done));
  return { reconciler, watch };
}
