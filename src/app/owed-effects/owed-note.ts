import { join } from 'node:path';
import type { Logger } from 'pino';
import { systemCodeOf } from '../../core/system-errors';
import { explainFsError } from '../../files/durable-write';
import { nodeFsOps, type FsOps } from '../../files/fs-ops';
import { DurableNote, type SetAside } from '../../state';
import type { Alarms } from '../alarms/alarms';
import type { Owed } from './owed';
import { showSetAside } from './set-aside';

export interface OwedNoteParts {
  readonly stateDir: string;
  /** Absent where there are none yet: the rounds of the daemon raise the alarm then. */
  readonly alarms?: Pick<Alarms, 'update'>;
  readonly log: Logger;
  readonly fs?: FsOps;
}

export type Left<T> =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'known'; readonly value: T; readonly isSealed: boolean }
  /**
   * There was a note, nobody knows what it said, and nothing has replaced it. That is durable. What it may have said is
   * undone from what the kernel and the API server say.
   */
  | { readonly kind: 'lost' }
  /** Nobody knows yet. Nothing may be done that would replace the note; ask again later. */
  | { readonly kind: 'unknown'; readonly because: string };

/**
 * The note on disk of what has to be undone outside. The rule is the same for all kinds: it is durable before the
 * effect, it is removed after the effect is undone, and a note that can't be used is set aside, which is an alarm until
 * somebody has looked.
 */
export class OwedNote<T> {
  private readonly note: DurableNote<T>;

  constructor(
    private readonly owed: Owed<T>,
    private readonly parts: OwedNoteParts,
  ) {
    this.note = new DurableNote(join(parts.stateDir, owed.file), owed.format, parts.fs);
  }

  get path(): string {
    return this.note.path;
  }

  /** Notes that were set aside and that nobody has looked at. */
  get setAside(): SetAside {
    return this.note.setAside;
  }

  /** True while there is such a note, or may be one. */
  get isSetAside(): boolean {
    const { setAside } = this;
    return 'because' in setAside || setAside.paths.length > 0;
  }

  /** Reads the record of earlier processes. Never throws. */
  load(): Left<T> {
    const read = this.note.read();
    if (read.kind === 'lost')
      this.parts.log.error({ because: read.because, movedTo: read.movedTo }, 'a note of what has to be undone is lost');
    this.look();
    switch (read.kind) {
      case 'read':
        return { kind: 'known', value: read.value, isSealed: read.isSealed };
      case 'missing': {
        const { setAside } = this;
        if ('because' in setAside) return { kind: 'unknown', because: setAside.because };
        // A process that set it aside may have ended before it noted that.
        return setAside.paths.length > 0 ? this.noteLost() : { kind: 'nothing' };
      }
      case 'of-lost':
        return { kind: 'lost' };
      case 'lost':
        return this.noteLost();
      case 'failed':
        return { kind: 'unknown', because: read.because };
    }
  }

  /** Returns when the value is durable. Throws the system's error: the effect must not be done then. */
  save(value: T): void {
    this.note.save(value);
  }

  /** Removes the note durably; it may be missing. Throws the system's error. */
  forget(): void {
    this.note.forget();
  }

  /** Raises the alarm about what was set aside, or ends it. */
  look(): void {
    const { stateDir, alarms, fs = nodeFsOps } = this.parts;
    if (alarms) showSetAside(stateDir, alarms, [this.owed], fs);
  }

  /**
   * The file that was set aside may be removed at any time, as the alarm asks for: it must not be the only trace of the
   * loss.
   */
  private noteLost(): Left<T> {
    try {
      this.note.saveLost();
      return { kind: 'lost' };
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      return { kind: 'unknown', because: explainFsError('save', this.path, error) };
    }
  }
}
