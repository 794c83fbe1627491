import type { DaemonContext } from '../context';
import type { Part } from '../lifecycle/part';
import { isOwed, OWED } from '../owed-effects/owed';
import type { NodeStatus } from '../status/open-status';

export interface IrqAffinityNeeds {
  readonly context: DaemonContext;
  readonly status: Pick<NodeStatus, 'metrics' | 'showFixedIrqs'>;
}

/** Keeps interrupts off exclusive CPUs; without the option it gives back what a killed process has moved. */
export const irqAffinityPart: Part<IrqAffinityNeeds> = {
  name: 'irq-affinity',
  isWanted: ({ irqAffinity, stateDir }) => irqAffinity === 'steer' || isOwed(stateDir, OWED.interrupts),
  open: async ({ context, status }) => {
    const { IrqSteering } = await import('./irq-steering');
    const steering = new IrqSteering({ context });
    if (context.config.irqAffinity === 'steer') status.metrics?.addIrqAffinity(() => steering.figures);
    status.showFixedIrqs(() => steering.fixed);
    return steering;
  },
};
