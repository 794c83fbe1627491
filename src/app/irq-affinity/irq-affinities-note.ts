import type { KnownIrqs } from '../../core/irq-affinity/plan-irq-affinity';
import { CpusetdError } from '../../core/errors';
import { systemCodeOf } from '../../core/system-errors';
import { explainFsError } from '../../files/durable-write';
import type { FsOps } from '../../files/fs-ops';
import type { IrqAffinities } from '../../state';
import type { DaemonContext } from '../context';
import { OWED } from '../owed-effects/owed';
import { OwedNote } from '../owed-effects/owed-note';

export interface IrqAffinitiesNoteParts {
  readonly context: Pick<DaemonContext, 'config' | 'alarms' | 'log'>;
  /** The boot that the numbers of the interrupts belong to. */
  readonly bootId: string;
  readonly fs?: FsOps;
}

/** The note on disk of the CPUs that interrupts had before they were moved. */
export class IrqAffinitiesNote {
  private readonly note: OwedNote<IrqAffinities>;

  constructor(private readonly parts: IrqAffinitiesNoteParts) {
    const { context, fs } = parts;
    const { alarms, log, config } = context;
    this.note = new OwedNote(OWED.interrupts, { stateDir: config.stateDir, alarms, log, ...(fs && { fs }) });
  }

  /**
   * The CPUs that an earlier process of this boot noted; what it noted in another boot is over with that. `lost`:
   * nobody knows what it noted. Throws FAILED_PRECONDITION when the note can't be read: nothing may be moved then,
   * since the note would be replaced.
   */
  load(): IrqAffinities['originals'] | 'lost' {
    const left = this.note.load();
    if (left.kind === 'unknown') throw new CpusetdError('FAILED_PRECONDITION', left.because);
    if (left.kind === 'lost') return 'lost';
    return left.kind === 'known' && left.value.bootId === this.parts.bootId ? left.value.originals : [];
  }

  /** False when the originals can't be made durable, which is an alarm: nothing may be moved then. */
  save(known: KnownIrqs): boolean {
    try {
      this.write(known);
      return true;
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      const because = explainFsError('save the affinities of interrupts in', this.note.path, error);
      this.parts.context.alarms.update('irq-affinity', '', because);
      return false;
    }
  }

  /** Keeps those that could not be given back. Throws the system's error. */
  keep(left: KnownIrqs): void {
    // Beside a note that was set aside, an empty one shows the next start that nothing is owed for it any more.
    if (left.size === 0 && !this.note.isSetAside) this.note.forget();
    else this.write(left);
  }

  private write(known: KnownIrqs): void {
    const originals = [...known.values()].map(({ irq, device, original }) => ({ irq, device, original }));
    this.note.save({ bootId: this.parts.bootId, originals });
  }
}
