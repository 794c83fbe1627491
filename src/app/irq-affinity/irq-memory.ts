import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { IrqOriginal, KnownIrqs } from '../../core/irq-affinity/plan-irq-affinity';
import { CpusetdError } from '../../core/errors';
import { readBounded } from '../../files/read-bounded';
import {
  decodeIrqAffinities,
  encodeIrqAffinities,
  MAX_IRQ_AFFINITIES_BYTES,
  nodeFsOps,
  replaceDurably,
  syncDirectory,
  type FsOps,
} from '../../state';

export const IRQ_FILE = 'irq-affinities.json';

/** True when an earlier process left interrupts moved, as far as is known. */
export function hasIrqMemory(stateDir: string): boolean {
  return existsSync(join(stateDir, IRQ_FILE));
}

/** The original CPUs of interrupts on disk. */
export class IrqMemory {
  readonly path: string;
  private text: string | undefined;

  constructor(
    stateDir: string,
    private readonly bootId: string,
    private readonly fs: FsOps = nodeFsOps,
  ) {
    this.path = join(stateDir, IRQ_FILE);
  }

  /**
   * The entries of an earlier process of this boot. Those of another boot are over with it. Throws FAILED_PRECONDITION when there is a file
   * that can't be read: it may be of use later.
   */
  read(log: Logger): readonly IrqOriginal[] {
    const read = readBounded(this.path, MAX_IRQ_AFFINITIES_BYTES, { own: true });
    if (!read.ok) {
      if (read.kind === 'missing') return [];
      throw new CpusetdError('FAILED_PRECONDITION', `${this.path} ${read.because}`);
    }
    const decoded = decodeIrqAffinities(read.text);
    if (decoded.ok) return decoded.affinities.bootId === this.bootId ? decoded.affinities.originals : [];
    log.warn({ path: this.path, because: decoded.because }, 'earlier affinities of interrupts are not known');
    return [];
  }

  /** Returns when the originals are durable; does nothing when they are. Throws the system's error. */
  save(known: KnownIrqs): void {
    const originals = [...known.values()].map(({ irq, device, original }) => ({ irq, device, original }));
    const text = encodeIrqAffinities({ bootId: this.bootId, originals });
    if (text === this.text) return;
    this.text = undefined;
    replaceDurably(this.fs, this.path, Buffer.from(text, 'utf8'));
    this.text = text;
  }

  /** Removes the file durably; it may be missing. Throws the system's error. */
  forget(): void {
    this.text = undefined;
    try {
      this.fs.unlink(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    syncDirectory(this.fs, dirname(this.path));
  }
}
