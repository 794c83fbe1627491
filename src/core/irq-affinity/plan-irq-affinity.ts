import { CpuSet } from '../cpuset';

/** Stands for the affinity that new interrupts get. */
export const DEFAULT_IRQ = -1;

/** An interrupt as the kernel has it now. */
export interface IrqReading {
  /** Its number, or `DEFAULT_IRQ`. */
  readonly irq: number;
  /**
   * Names of its handlers: a number may be given to another device later. Empty: nobody handles it now, as when a
   * network card is down.
   */
  readonly device: string;
  readonly affinity: CpuSet;
}

/** An interrupt as it was without us. This is what outlives the process. */
export interface IrqOriginal {
  readonly irq: number;
  readonly device: string;
  readonly original: CpuSet;
}

/** An interrupt that this process knows. */
export interface KnownIrq extends IrqOriginal {
  /** The affinity that it has by us: the original, or what was written last. */
  readonly applied: CpuSet;
  /** Times that someone else changed it since exclusive CPUs changed last. */
  readonly foreignChanges: number;
}

export type KnownIrqs = ReadonlyMap<number, KnownIrq>;

export interface IrqWrite {
  readonly irq: number;
  readonly cpus: CpuSet;
}

export interface IrqPlan {
  /** Everything that is known when the writes are done. Its originals have to be remembered before. */
  readonly known: KnownIrqs;
  readonly writes: readonly IrqWrite[];
  /** Interrupts that someone else moved since the plan before. */
  readonly changedByOthers: readonly number[];
  /** Interrupts on exclusive CPUs that someone else moved too often: they are left alone. */
  readonly leftAlone: readonly number[];
}

export interface IrqSituation {
  readonly readings: readonly IrqReading[];
  readonly known: KnownIrqs;
  readonly exclusive: CpuSet;
  readonly online: CpuSet;
  /** The CPUs of interrupts that may use exclusive CPUs only; some of them are online. */
  readonly housekeeping: CpuSet;
  /** Exclusive CPUs have changed since the plan before: who was left alone gets another try. */
  readonly isNewRound?: boolean;
}

/** Number of foreign changes after which an interrupt is left alone, so that two managers do not move it for ever. */
export const MAX_FOREIGN_CHANGES = 3;

/**
 * Lists the writes after which no interrupt is sent to exclusive CPUs. Each gets its original CPUs without them. Pure.
 */
export function planIrqAffinity(situation: IrqSituation): IrqPlan {
  const { readings, known, exclusive, online, housekeeping, isNewRound = false } = situation;
  const byDefault = known.get(DEFAULT_IRQ);
  const next = new Map<number, KnownIrq>();
  const writes: IrqWrite[] = [];
  const changedByOthers: number[] = [];
  const leftAlone: number[] = [];
  for (const reading of readings) {
    const { irq, device, affinity } = reading;
    const before = sameDevice(known.get(irq), reading);
    if (!before && device === '') continue; // does not fire
    const isForeign = before !== undefined && isForeignChange(before, affinity, online);
    if (isForeign) changedByOthers.push(irq);
    const original = originalOf(reading, before, byDefault, isForeign);
    const foreignChanges = (isNewRound ? 0 : (before?.foreignChanges ?? 0)) + (isForeign ? 1 : 0);
    const target = steer(original, { exclusive, online, housekeeping });
    const isLeft = foreignChanges >= MAX_FOREIGN_CHANGES && !target.equals(affinity);
    if (isLeft) leftAlone.push(irq);
    else if (!target.equals(affinity)) writes.push({ irq, cpus: target });
    next.set(irq, {
      irq,
      original,
      foreignChanges,
      device: device || before!.device,
      applied: isLeft ? affinity : target,
    });
  }
  return { known: next, writes, changedByOthers, leftAlone };
}

/** The original CPUs without exclusive ones; housekeeping CPUs where none of these is online. */
function steer(
  original: CpuSet,
  { exclusive, online, housekeeping }: Pick<IrqSituation, 'exclusive' | 'online' | 'housekeeping'>,
): CpuSet {
  if (!original.overlaps(exclusive)) return original;
  const rest = original.minus(exclusive);
  return rest.overlaps(online) ? rest : housekeeping;
}

function sameDevice<T extends IrqOriginal>(known: T | undefined, { device }: IrqReading): T | undefined {
  return device === '' || known?.device === device ? known : undefined;
}

/** When all CPUs of an interrupt go offline the kernel sends it to all others: that is no change by anybody. */
function isForeignChange({ applied }: KnownIrq, affinity: CpuSet, online: CpuSet): boolean {
  return !affinity.equals(applied) && applied.overlaps(online);
}

function originalOf(
  { affinity }: IrqReading,
  before: KnownIrq | undefined,
  byDefault: KnownIrq | undefined,
  isForeign: boolean,
): CpuSet {
  if (isForeign) return affinity;
  if (before) return before.original;
  // A new interrupt begins with the default, which may be one of ours.
  return byDefault && affinity.equals(byDefault.applied) ? byDefault.original : affinity;
}

/** The knowledge after a restart: whatever interrupts have now is taken for ours. */
export function resumeIrqs(originals: readonly IrqOriginal[], readings: readonly IrqReading[]): KnownIrqs {
  const byIrq = new Map(originals.map((each) => [each.irq, each]));
  const known = new Map<number, KnownIrq>();
  for (const reading of readings) {
    const found = sameDevice(byIrq.get(reading.irq), reading);
    if (found) known.set(found.irq, { ...found, applied: reading.affinity, foreignChanges: 0 });
  }
  return known;
}

/**
 * The originals that the kernel shows where nothing of them is remembered: an interrupt that may use all online CPUs
 * but exactly the exclusive ones had these too. No original is known for the others: they stay where they are. Pure.
 */
export function inferOriginals(
  readings: readonly IrqReading[],
  { exclusive, online }: Pick<IrqSituation, 'exclusive' | 'online'>,
): readonly IrqOriginal[] {
  const rest = online.minus(exclusive);
  if (rest.equals(online) || rest.isEmpty) return [];
  return readings
    .filter(({ affinity }) => affinity.intersect(online).equals(rest))
    .map(({ irq, device, affinity }) => ({ irq, device, original: affinity.union(exclusive) }));
}

/**
 * Lists the writes that give each interrupt its original CPUs back. One that someone else moved meanwhile keeps what it
 * has. Pure.
 */
export function planRestore(known: KnownIrqs, readings: readonly IrqReading[]): readonly IrqWrite[] {
  return readings.flatMap((reading) => {
    const found = sameDevice(known.get(reading.irq), reading);
    if (!found || !reading.affinity.equals(found.applied) || reading.affinity.equals(found.original)) return [];
    return [{ irq: found.irq, cpus: found.original }];
  });
}
