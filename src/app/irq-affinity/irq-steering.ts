import type { CpuSet } from '../../core/cpuset';
import { machineOf } from '../../core/topology';
import {
  inferOriginals,
  planIrqAffinity,
  planRestore,
  resumeIrqs,
  type IrqReading,
  type KnownIrqs,
} from '../../core/irq-affinity/plan-irq-affinity';
import { listProcessNames, readBootId, readIrqs, TimeSlices } from '../../host';
import { pause } from '../../net/pause';
import type { FsOps } from '../../files/fs-ops';
import type { DaemonContext } from '../context';
import { undoWithin } from '../owed-effects/undo-within';
import { IrqAffinitiesNote } from './irq-affinities-note';
import { IrqMover, MAX_NAMED, nameOfIrq, SLICE_MS, type IrqMoverParts } from './irq-mover';

export interface IrqSteeringParts extends IrqMoverParts {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'alarms' | 'faults' | 'events' | 'log'>;
  readonly fs?: FsOps;
}

/** The number of interrupts for the metrics. */
export interface IrqFigures {
  /** Those that are away from CPUs that they had. */
  readonly moved: number;
  /** Those on exclusive CPUs that the kernel does not move, or someone else moves back. */
  readonly refused: number;
}

/** Changes of this time, in ms, are taken together. */
const GATHER_MS = 50;
/** Shortest time between two looks at all interrupts without a change of ours, in ms. */
const MIN_PERIOD_MS = 10_000;
/** Longest time that the end of the daemon waits until interrupts have their CPUs back. */
const LAST_UNDO_MS = 8_000;

/**
 * Keeps interrupts off exclusive CPUs. It follows committed transactions, so no answer waits for it. Interrupts that
 * the kernel never moves are named once and not tried again.
 */
export class IrqSteering {
  private readonly mover: IrqMover;
  /** Undefined before the interrupts of an earlier process are known. */
  private note: IrqAffinitiesNote | undefined;
  private known: KnownIrqs = new Map();
  /** The exclusive CPUs that the last plan was for. */
  private planned: CpuSet | undefined;
  private refused: readonly number[] = [];
  private leftAlone: readonly number[] = [];
  private wake = new AbortController();

  constructor(private readonly parts: IrqSteeringParts) {
    this.mover = new IrqMover(parts);
  }

  get figures(): IrqFigures {
    const moved = [...this.known.values()].filter(
      ({ irq, applied, original }) => irq >= 0 && !applied.equals(original),
    );
    return { moved: moved.length, refused: this.refused.length + this.leftAlone.length };
  }

  /** The interrupts on exclusive CPUs that the kernel never moves. */
  get fixed(): readonly number[] {
    return this.refused.filter((irq) => irq >= 0 && this.mover.isFixed(irq));
  }

  /**
   * Runs until the signal is aborted, then gives all interrupts their CPUs back. Without the option it only does that.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { config, events, faults, model } = this.parts.context;
    await faults.containAsync('reading the interrupts', () => this.resume());
    if (config.irqAffinity === 'steer') {
      signal.addEventListener('abort', () => this.wake.abort(), { once: true });
      events.on('committed', 'following the exclusive CPUs for interrupts', () => {
        if (!this.planned?.equals(model.exclusive)) this.wake.abort();
      });
      while (!signal.aborted) {
        await faults.containAsync('moving interrupts off exclusive CPUs', () => this.steer());
        await this.untilDue(signal);
      }
    }
    const restore = (): Promise<void> => faults.containAsync('giving interrupts their CPUs back', () => this.restore());
    const because = await undoWithin(LAST_UNDO_MS, () => restore().then(() => undefined), 'it took too long');
    if (because !== undefined)
      this.parts.context.log.warn({ because }, 'interrupts do not have their CPUs back: the next start tries again');
  }

  private async untilDue(signal: AbortSignal): Promise<void> {
    const { model, config } = this.parts.context;
    this.wake = new AbortController();
    if (signal.aborted || !this.planned?.equals(model.exclusive)) this.wake.abort();
    await pause(Math.max(MIN_PERIOD_MS, config.reconcilePeriodMs), this.wake.signal);
    if (this.wake.signal.aborted) await pause(GATHER_MS, signal);
  }

  /**
   * Takes up what an earlier process of this boot left; what it left in another boot is over with that. Throws the
   * system's error when the interrupts can't be read, and FAILED_PRECONDITION when the note can't: nothing is moved
   * then, since the note would be replaced.
   */
  async resume(): Promise<void> {
    const { context, procRoot, fs } = this.parts;
    const note = new IrqAffinitiesNote({ context, bootId: readBootId(procRoot), ...(fs && { fs }) });
    const left = note.load();
    const readings = await this.read();
    const { exclusive, topology } = context.model;
    const { online } = machineOf(topology);
    this.known = resumeIrqs(left === 'lost' ? inferOriginals(readings, { exclusive, online }) : left, readings);
    this.note = note;
  }

  /**
   * Moves every interrupt that is on exclusive CPUs now. Throws the system's error when the interrupts can't be read.
   */
  async steer(): Promise<void> {
    const { mover } = this;
    const { model, log } = this.parts.context;
    if (!this.note) await this.resume();
    const { exclusive, sharedPool, topology, settings } = model;
    const readings = await this.read();
    const isNewRound = !this.planned?.equals(exclusive);
    this.planned = exclusive;
    if (isNewRound) mover.forgetPassingRefusals();
    const { online } = machineOf(topology); // interrupts know nothing of cgroups
    const reserved = settings.reserved.intersect(online);
    const plan = planIrqAffinity({
      readings,
      known: this.known,
      exclusive,
      isNewRound,
      online,
      housekeeping: reserved.isEmpty ? sharedPool : reserved,
    });
    this.logOthers(plan.changedByOthers, plan.leftAlone, readings);
    this.leftAlone = plan.leftAlone;
    if (plan.writes.length > 0 && this.note?.save(plan.known) !== true) return;
    this.known = plan.known;
    const writes = plan.writes.filter((write) => !mover.isRefused(write.irq, plan.known));
    const { moved, failed } = await mover.move(writes, readings);
    this.refused = plan.writes.map(({ irq }) => irq).filter((irq) => mover.isRefused(irq, plan.known));
    this.known = withReadings(plan.known, [...failed, ...this.refused], readings);
    if (moved > 0) log.debug({ exclusive: exclusive.toString(), moved }, 'interrupts moved');
  }

  /** Gives every interrupt the CPUs that it had. Those that can't have them now stay noted. */
  async restore(): Promise<void> {
    const { log } = this.parts.context;
    if (!this.note) return;
    const readings = await this.read();
    const writes = planRestore(this.known, readings);
    const { moved, failed } = await this.mover.move(writes, readings);
    this.note.keep(new Map([...this.known].filter(([irq]) => failed.has(irq))));
    if (moved > 0) log.info({ moved }, 'interrupts have their CPUs back');
    if (failed.size > 0)
      log.warn({ count: failed.size }, 'interrupts do not have their CPUs back: the next start tries again');
    this.known = new Map();
    this.planned = undefined;
  }

  private read(): Promise<readonly IrqReading[]> {
    return readIrqs(new TimeSlices(SLICE_MS), this.parts.procRoot);
  }

  private logOthers(changed: readonly number[], leftAlone: readonly number[], readings: readonly IrqReading[]): void {
    const { log } = this.parts.context;
    const names = (irqs: readonly number[]): readonly string[] =>
      readings
        .filter(({ irq }) => irqs.includes(irq))
        .slice(0, MAX_NAMED)
        .map(({ irq, device }) => nameOfIrq(irq, device));
    const isNew = leftAlone.filter((irq) => !this.leftAlone.includes(irq));
    if (changed.length > 0) log.debug({ irqs: names(changed) }, 'someone else moved interrupts');
    if (isNew.length === 0) return;
    const because = listProcessNames(this.parts.procRoot).has('irqbalance')
      ? 'irqbalance runs: set IRQBALANCE_BANNED_CPULIST to the CPUs that are not reserved, or stop it'
      : 'someone else moves them again and again';
    log.warn({ irqs: names(isNew), because }, 'interrupts are left on exclusive CPUs until these change');
  }
}

/** An interrupt that was not moved has what was read. */
function withReadings(known: KnownIrqs, irqs: readonly number[], readings: readonly IrqReading[]): KnownIrqs {
  const affinityOf = new Map(readings.map(({ irq, affinity }) => [irq, affinity]));
  const unmoved = irqs.flatMap((irq) => {
    const [entry, applied] = [known.get(irq), affinityOf.get(irq)];
    return entry && applied ? [[irq, { ...entry, applied }] as const] : [];
  });
  return unmoved.length === 0 ? known : new Map([...known, ...unmoved]);
}
