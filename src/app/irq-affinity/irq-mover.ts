import type { CpuSet } from '../../core/cpuset';
import { DEFAULT_IRQ, type IrqReading, type IrqWrite, type KnownIrqs } from '../../core/irq-affinity/plan-irq-affinity';
import { TimeSlices, writeIrqAffinity, type IrqWriteOutcome } from '../../host';
import type { DaemonContext } from '../context';

export interface IrqMoverParts {
  readonly context: Pick<DaemonContext, 'alarms' | 'log'>;
  readonly procRoot?: string;
  /** Moves one interrupt; for tests. */
  readonly move?: (irq: number, cpus: CpuSet) => IrqWriteOutcome;
}

/** `failed`: those that exist and were not moved. */
export interface Moved {
  readonly moved: number;
  readonly failed: ReadonlySet<number>;
}

type Refusal = Exclude<IrqWriteOutcome, { readonly ok: true }>;

/** The longest time without a turn for the runtime, in ms. */
export const SLICE_MS = 3;
/** Most interrupts that a line of the log names. */
export const MAX_NAMED = 50;

/** Writes affinities of interrupts, and keeps in mind which ones the kernel refuses to move. */
export class IrqMover {
  /** Refused writes, with the device: the number may be another one's later. */
  private readonly refusals = new Map<number, Refusal & { readonly device: string }>();

  constructor(private readonly parts: IrqMoverParts) {}

  /** Writes with turns for others in between. */
  async move(writes: readonly IrqWrite[], readings: readonly IrqReading[]): Promise<Moved> {
    const { context, procRoot } = this.parts;
    const move = this.parts.move ?? ((irq: number, cpus: CpuSet) => writeIrqAffinity(irq, cpus, procRoot));
    const deviceOf = new Map(readings.map(({ irq, device }) => [irq, device]));
    const slices = new TimeSlices(SLICE_MS);
    const fresh: string[] = [];
    const failed = new Set<number>();
    let moved = 0;
    for (const [at, { irq, cpus }] of writes.entries()) {
      if (slices.isOver) await slices.rest();
      const outcome = move(irq, cpus);
      if (outcome.ok) moved += 1;
      else if (outcome.kind === 'read-only') {
        const because = `${outcome.path} can't be written (${outcome.code}); run cpusetd as a service of the host, or set --irq-affinity off`;
        context.alarms.update('irq-affinity', '', because);
        for (const write of writes.slice(at)) failed.add(write.irq);
        return { moved, failed };
      } else if (outcome.kind !== 'gone') {
        const device = deviceOf.get(irq) ?? '';
        failed.add(irq);
        this.refusals.set(irq, { ...outcome, device });
        fresh.push(`${nameOfIrq(irq, device)}: ${outcome.code}`);
      }
    }
    context.alarms.clear('irq-affinity', '');
    if (fresh.length > 0)
      context.log.warn(
        { irqs: fresh.slice(0, MAX_NAMED), count: fresh.length },
        'the kernel refuses to move interrupts: they stay where they are',
      );
    return { moved, failed };
  }

  /** True for an interrupt that the kernel has refused to move. */
  isRefused(irq: number, known: KnownIrqs): boolean {
    const refusal = this.refusals.get(irq);
    return refusal !== undefined && refusal.device === known.get(irq)?.device;
  }

  /** True for one that the kernel never moves. */
  isFixed(irq: number): boolean {
    return this.refusals.get(irq)?.kind === 'fixed';
  }

  /** No vector was left on those CPUs, or none of them was online: another set may do. */
  forgetPassingRefusals(): void {
    for (const [irq, { kind }] of this.refusals) if (kind === 'other') this.refusals.delete(irq);
  }
}

/** The name of an interrupt for the operator. */
export function nameOfIrq(irq: number, device: string): string {
  return irq === DEFAULT_IRQ ? 'new interrupts' : `${irq} ${device}`.trim();
}
