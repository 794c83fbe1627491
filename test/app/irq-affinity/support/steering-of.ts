import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../../src/app/alarms/alarms';
import { Faults } from '../../../../src/app/alarms/faults';
import type { Config } from '../../../../src/app/config';
import { IrqSteering, type IrqSteeringParts } from '../../../../src/app/irq-affinity/irq-steering';
import { DaemonEvents } from '../../../../src/app/transaction/daemon-events';
import type { NodeView } from '../../../../src/core/model/node-view';
import { DEFAULT_IRQ } from '../../../../src/core/irq-affinity/plan-irq-affinity';
import { formatCpuMask, parseCpuList, type CpuSet } from '../../../../src/core/cpuset';

export interface SteeringOptions extends Partial<Pick<IrqSteeringParts, 'move' | 'fs'>> {
  readonly stateDir: string;
  readonly procRoot: string;
  readonly irqAffinity?: 'off' | 'steer';
  readonly online?: string;
}

/** The steering of a node with CPUs 0-7, of which 0 is reserved. */
export function steeringOf({ stateDir, procRoot, irqAffinity = 'steer', online = '0-7', ...given }: SteeringOptions) {
  const lines: { msg: string; irqs?: string[]; because?: string }[] = [];
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
  );
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const faults = new Faults({ log, alarms });
  const events = new DaemonEvents(faults);
  const model = {
    exclusive: parseCpuList(''),
    sharedPool: parseCpuList('0-7'),
    topology: { online: parseCpuList(online) },
    settings: { reserved: parseCpuList('0') },
  };
  const steering = new IrqSteering({
    context: {
      alarms,
      faults,
      events,
      log,
      config: { stateDir, irqAffinity, reconcilePeriodMs: 100 } as Config,
      model: model as unknown as NodeView,
    },
    procRoot,
    move: moverIn(procRoot),
    ...given,
  });
  return {
    steering,
    lines,
    alarms,
    events,
    own: (list: string): void => void (model.exclusive = parseCpuList(list)),
  };
}

/** Moves interrupts of a fake folder, whose files have to be replaced. */
export function moverIn(procRoot: string) {
  return (irq: number, cpus: CpuSet) => {
    if (irq === DEFAULT_IRQ) writeFileSync(join(procRoot, 'irq/default_smp_affinity'), `${formatCpuMask(cpus)}\n`);
    else writeFileSync(join(procRoot, 'irq', String(irq), 'smp_affinity_list'), `${cpus.toString()}\n`);
    return { ok: true } as const;
  };
}
