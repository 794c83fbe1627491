import type { DaemonContext } from '../context';
import type { Part } from '../lifecycle/part';
import type { NodeStatus } from '../status/open-status';

export interface AuditNeeds {
  readonly context: DaemonContext;
  readonly status: Pick<NodeStatus, 'backend' | 'metrics' | 'showForeign'>;
}

/** Measures who else runs on exclusive CPUs. */
export const auditPart: Part<AuditNeeds> = {
  name: 'audit',
  isWanted: ({ auditPeriodMs }) => auditPeriodMs !== undefined,
  open: async ({ context, status }) => {
    const { AuditJob } = await import('./audit-job');
    return new AuditJob({
      context,
      assigned: () => status.backend.topology(),
      metrics: status.metrics?.addAudit(),
      onForeign: (loads) => status.showForeign(loads),
    });
  },
};
