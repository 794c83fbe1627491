import type { CpuSet } from '../../core/cpuset';
import { machineOf } from '../../core/topology';
import {
  DEFAULT_IRQ,
  inferOriginals,
  planIrqAffinity,
  planRestore,
  resumeIrqs,
  type IrqReading,
  type IrqWrite,
  type KnownIrq,
  type KnownIrqs,
} from '../../core/irq-affinity/plan-irq-affinity';
import { CpusetdError } from '../../core/errors';
import { systemCodeOf } from '../../core/system-errors';
import { listProcessNames, readBootId, readIrqs, TimeSlices, writeIrqAffinity, type IrqWriteOutcome } from '../../host';
import { pause } from '../../net/pause';
import { explainFsError, type FsOps, type IrqAffinities } from '../../state';
import type { DaemonContext } from '../context';
import { OWED } from '../owed-effects/owed';
import { OwedNote } from '../owed-effects/owed-note';
import { undoWithin } from '../owed-effects/undo-within';

export interface IrqSteeringParts {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'alarms' | 'faults' | 'events' | 'log'>;
  readonly procRoot?: string;
  readonly fs?: FsOps;
  /** Moves one interrupt; for tests. */
  readonly move?: (irq: number, cpus: CpuSet) => IrqWriteOutcome;
}

/** The number of interrupts for the metrics. */
export interface IrqFigures {
  /** Those that are away from CPUs that they had. */
  readonly moved: number;
  /** Those on exclusive CPUs that the kernel does not move, or someone else moves back. */
  readonly refused: number;
}

/** The longest time without a turn for the runtime, in ms. */
const SLICE_MS = 3;
/** Changes of this time, in ms, are taken together. */
const GATHER_MS = 50;
/** Shortest time between two looks at all interrupts without a change of ours, in ms. */
const MIN_PERIOD_MS = 10_000;
/** Longest time that the end of the daemon waits until interrupts have their CPUs back. */
const LAST_UNDO_MS = 8_000;
/** Most interrupts that a line of the log names. */
const MAX_NAMED = 50;

type Refusal = Exclude<IrqWriteOutcome, { readonly ok: true }>;

/**
 * Keeps interrupts off exclusive CPUs. It follows committed transactions, so no answer waits for it. Interrupts that the kernel never moves are
 * named once and not tried again.
 */
export class IrqSteering {
  private memory: { readonly note: OwedNote<IrqAffinities>; readonly bootId: string } | undefined;
  private known: KnownIrqs = new Map();
  /** The exclusive CPUs that the last plan was for. */
  private planned: CpuSet | undefined;
  /** Refused writes, with the device: the number may be another one's later. */
  private readonly refusals = new Map<number, Refusal & { readonly device: string }>();
  private refused: readonly number[] = [];
  private leftAlone: readonly number[] = [];
  private wake = new AbortController();

  constructor(private readonly parts: IrqSteeringParts) {}

  get figures(): IrqFigures {
    const moved = [...this.known.values()].filter(
      ({ irq, applied, original }) => irq >= 0 && !applied.equals(original),
    );
    return { moved: moved.length, refused: this.refused.length + this.leftAlone.length };
  }

  /** The interrupts on exclusive CPUs that the kernel never moves. */
  get fixed(): readonly number[] {
    return this.refused.filter((irq) => irq >= 0 && this.refusals.get(irq)?.kind === 'fixed');
  }

  /** Runs until the signal is aborted, then gives all interrupts their CPUs back. Without the option it only does that. */
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
   * Takes up what an earlier process of this boot left; what it left in another boot is over with that. Throws the system's error when the
   * interrupts can't be read, and FAILED_PRECONDITION when the note can't: nothing is moved then, since the note would be replaced.
   */
  async resume(): Promise<void> {
    const { context, procRoot, fs } = this.parts;
    const { alarms, log, model, config } = context;
    const note = new OwedNote(OWED.interrupts, { stateDir: config.stateDir, alarms, log, ...(fs && { fs }) });
    const left = note.load();
    if (left.kind === 'unknown') throw new CpusetdError('FAILED_PRECONDITION', left.because);
    const bootId = readBootId(procRoot);
    const readings = await this.read();
    const isOfThisBoot = left.kind === 'known' && left.value.bootId === bootId;
    const known = isOfThisBoot ? left.value.originals : [];
    const { online } = machineOf(model.topology);
    const originals = left.kind === 'lost' ? inferOriginals(readings, { exclusive: model.exclusive, online }) : known;
    this.known = resumeIrqs(originals, readings);
    this.memory = { note, bootId };
  }

  /** Moves every interrupt that is on exclusive CPUs now. Throws the system's error when the interrupts can't be read. */
  async steer(): Promise<void> {
    const { model, log } = this.parts.context;
    if (!this.memory) await this.resume();
    const { exclusive, sharedPool, topology, settings } = model;
    const readings = await this.read();
    const isNewRound = !this.planned?.equals(exclusive);
    this.planned = exclusive;
    if (isNewRound) this.forgetPassingRefusals();
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
    if (plan.writes.length > 0 && !this.remember(plan.known)) return;
    this.known = plan.known;
    const writes = plan.writes.filter((write) => !this.isRefused(write.irq, plan.known));
    const { moved } = await this.carryOut(writes, readings);
    this.refused = plan.writes.map(({ irq }) => irq).filter((irq) => this.isRefused(irq, plan.known));
    for (const irq of this.refused) this.correct(irq, readings);
    if (moved > 0) log.debug({ exclusive: exclusive.toString(), moved }, 'interrupts moved');
  }

  /** Gives every interrupt the CPUs that it had. Those that can't have them now stay remembered. */
  async restore(): Promise<void> {
    const { log } = this.parts.context;
    if (!this.memory) return;
    const readings = await this.read();
    const writes = planRestore(this.known, readings);
    const { moved, failed } = await this.carryOut(writes, readings);
    const { note } = this.memory;
    // Beside a note that was set aside, an empty one tells the next start that nothing is owed for it any more.
    if (failed.size === 0 && !note.isSetAside) note.forget();
    else this.save(new Map([...this.known].filter(([irq]) => failed.has(irq))));
    if (moved > 0) log.info({ moved }, 'interrupts have their CPUs back');
    if (failed.size > 0)
      log.warn({ count: failed.size }, 'interrupts do not have their CPUs back: the next start tries again');
    this.known = new Map();
    this.planned = undefined;
  }

  private save(known: KnownIrqs): void {
    const { note, bootId } = this.memory!;
    const originals = [...known.values()].map(({ irq, device, original }) => ({ irq, device, original }));
    note.save({ bootId, originals });
  }

  private read(): Promise<readonly IrqReading[]> {
    return readIrqs(new TimeSlices(SLICE_MS), this.parts.procRoot);
  }

  /** False when the originals can't be made durable: nothing is moved then. */
  private remember(known: KnownIrqs): boolean {
    const { note } = this.memory!;
    try {
      this.save(known);
      return true;
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      const because = explainFsError('save the affinities of interrupts in', note.path, error);
      this.parts.context.alarms.update('irq-affinity', '', because);
      return false;
    }
  }

  /** Writes with turns for others in between. `failed`: those that exist and were not moved. */
  private async carryOut(
    writes: readonly IrqWrite[],
    readings: readonly IrqReading[],
  ): Promise<{ readonly moved: number; readonly failed: ReadonlySet<number> }> {
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
        for (const write of writes.slice(at)) {
          this.correct(write.irq, readings);
          failed.add(write.irq);
        }
        return { moved, failed };
      } else if (outcome.kind !== 'gone') {
        const device = deviceOf.get(irq) ?? '';
        failed.add(irq);
        this.refusals.set(irq, { ...outcome, device });
        fresh.push(`${nameOf(irq, device)}: ${outcome.code}`);
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

  private isRefused(irq: number, known: KnownIrqs): boolean {
    const refusal = this.refusals.get(irq);
    return refusal !== undefined && refusal.device === known.get(irq)?.device;
  }

  /** An interrupt that was not moved has what was read. */
  private correct(irq: number, readings: readonly IrqReading[]): void {
    const [entry, reading] = [this.known.get(irq), readings.find((each) => each.irq === irq)];
    if (!entry || !reading) return;
    const corrected: KnownIrq = { ...entry, applied: reading.affinity };
    this.known = new Map([...this.known, [irq, corrected]]);
  }

  /** No vector left on those CPUs, none of them online: another set may do. */
  private forgetPassingRefusals(): void {
    for (const [irq, { kind }] of this.refusals) if (kind === 'other') this.refusals.delete(irq);
  }

  private logOthers(changed: readonly number[], leftAlone: readonly number[], readings: readonly IrqReading[]): void {
    const { log } = this.parts.context;
    const names = (irqs: readonly number[]): readonly string[] =>
      readings
        .filter(({ irq }) => irqs.includes(irq))
        .slice(0, MAX_NAMED)
        .map(({ irq, device }) => nameOf(irq, device));
    const isNew = leftAlone.filter((irq) => !this.leftAlone.includes(irq));
    if (changed.length > 0) log.debug({ irqs: names(changed) }, 'someone else moved interrupts');
    if (isNew.length === 0) return;
    const because = listProcessNames(this.parts.procRoot).has('irqbalance')
      ? 'irqbalance runs: set IRQBALANCE_BANNED_CPULIST to the CPUs that are not reserved, or stop it'
      : 'someone else moves them again and again';
    log.warn({ irqs: names(isNew), because }, 'interrupts are left on exclusive CPUs until these change');
  }
}

function nameOf(irq: number, device: string): string {
  return irq === DEFAULT_IRQ ? 'new interrupts' : `${irq} ${device}`.trim();
}
