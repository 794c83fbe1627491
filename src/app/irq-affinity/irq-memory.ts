import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { IrqOriginal, KnownIrqs } from '../../core/irq-affinity/plan-irq-affinity';
import { DurableNote, irqAffinitiesFormat, type FsOps, type IrqAffinities } from '../../state';

export const IRQ_FILE = 'irq-affinities.json';

/** True when an earlier process left interrupts moved, as far as is known. */
export function hasIrqMemory(stateDir: string): boolean {
  return existsSync(join(stateDir, IRQ_FILE));
}

/** The original CPUs of interrupts on disk. */
export class IrqMemory {
  private readonly note: DurableNote<IrqAffinities>;

  constructor(
    stateDir: string,
    private readonly bootId: string,
    fs?: FsOps,
  ) {
    this.note = new DurableNote(join(stateDir, IRQ_FILE), irqAffinitiesFormat, fs);
  }

  get path(): string {
    return this.note.path;
  }

  /**
   * The entries of an earlier process of this boot. Those of another boot are over with it. Throws FAILED_PRECONDITION when there is a file
   * that can't be read: it may be of use later.
   */
  read(log: Logger): readonly IrqOriginal[] {
    const read = this.note.read();
    if (read.kind === 'read') return read.value.bootId === this.bootId ? read.value.originals : [];
    if (read.kind === 'broken')
      log.warn({ path: this.path, because: read.because }, 'earlier affinities of interrupts are not known');
    return [];
  }

  /** Returns when the originals are durable; does nothing when they are. Throws the system's error. */
  save(known: KnownIrqs): void {
    const originals = [...known.values()].map(({ irq, device, original }) => ({ irq, device, original }));
    this.note.save({ bootId: this.bootId, originals });
  }

  /** Removes the file durably; it may be missing. Throws the system's error. */
  forget(): void {
    this.note.forget();
  }
}
