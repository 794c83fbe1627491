import type { IrqOriginal } from '../core/irq-affinity/plan-irq-affinity';
import { noteFormat } from './durable-note';
import { Fields, ShapeError } from './fields';

const VERSION = 1;
/** A machine has some thousand interrupts at most, of about 80 bytes each. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The CPUs that interrupts had before they were moved. */
export interface IrqAffinities {
  /** The boot that the numbers of the interrupts belong to. */
  readonly bootId: string;
  readonly originals: readonly IrqOriginal[];
}

/** One interrupt a line. A file with one wrong entry is none of ours. */
export const irqAffinitiesFormat = noteFormat<IrqAffinities>({
  version: VERSION,
  maxBytes: MAX_BYTES,
  encode,
  read: toAffinities,
});

function encode({ bootId, originals }: IrqAffinities): string {
  const lines = originals.map(({ irq, device, original }) =>
    JSON.stringify({ irq, device, original: original.toString() }),
  );
  return `{"version":${VERSION},"bootId":${JSON.stringify(bootId)},"irqs":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}

function toAffinities(document: Fields): IrqAffinities {
  const originals = document.list('irqs').map((entry) => toOriginal(new Fields(entry, 'the interrupt')));
  return { bootId: document.text('bootId'), originals };
}

function toOriginal(fields: Fields): IrqOriginal {
  const irq = fields.number('irq');
  if (!Number.isInteger(irq) || irq < -1) throw new ShapeError('"irq" is not the number of an interrupt');
  const original = fields.cpuSet('original');
  if (original.isEmpty) throw new ShapeError('"original" has no CPU');
  return { irq, device: fields.text('device'), original };
}
