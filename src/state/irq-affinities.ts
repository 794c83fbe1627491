import type { IrqOriginal } from '../core/irq-affinity/plan-irq-affinity';
import { CpuListError } from '../core/cpuset';
import { Fields, ShapeError } from './fields';

const VERSION = 1;
/** A machine has some thousand interrupts at most, of about 80 bytes each. */
export const MAX_IRQ_AFFINITIES_BYTES = 4 * 1024 * 1024;

/** The CPUs that interrupts had before they were moved. */
export interface IrqAffinities {
  /** The boot that the numbers of the interrupts belong to. */
  readonly bootId: string;
  readonly originals: readonly IrqOriginal[];
}

export type DecodedIrqAffinities =
  | { readonly ok: true; readonly affinities: IrqAffinities }
  /** `because` follows the path in a sentence. */
  | { readonly ok: false; readonly because: string };

/** The document as text, one interrupt a line. */
export function encodeIrqAffinities({ bootId, originals }: IrqAffinities): string {
  const lines = originals.map(({ irq, device, original }) =>
    JSON.stringify({ irq, device, original: original.toString() }),
  );
  return `{"version":${VERSION},"bootId":${JSON.stringify(bootId)},"irqs":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}

/** Reads what `encodeIrqAffinities` wrote. Never throws, whatever the text: a file with one wrong entry is none of ours. */
export function decodeIrqAffinities(text: string): DecodedIrqAffinities {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, because: 'is not JSON, cut off or overwritten' };
  }
  try {
    const document = new Fields(value, 'the document');
    const version = document.count('version');
    if (version !== VERSION) return { ok: false, because: `has version ${version}, and ${VERSION} is read` };
    const originals = document.list('irqs').map((entry) => toOriginal(new Fields(entry, 'the interrupt')));
    return { ok: true, affinities: { bootId: document.text('bootId'), originals } };
  } catch (error) {
    if (error instanceof ShapeError || error instanceof CpuListError)
      return { ok: false, because: `is not of ours: ${error.message}` };
    throw error;
  }
}

function toOriginal(fields: Fields): IrqOriginal {
  const irq = fields.number('irq');
  if (!Number.isInteger(irq) || irq < -1) throw new ShapeError('"irq" is not the number of an interrupt');
  const original = fields.cpuSet('original');
  if (original.isEmpty) throw new ShapeError('"original" has no CPU');
  return { irq, device: fields.text('device'), original };
}
