import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { CpuSet } from '../../core/cpuset';
import type { CpuAdjustment } from '../../core/model/events';

/**
 * A CreateContainerRequest with the resources of its container changed, by appending a second
 * `config { linux { resources { … } } }`: a reader of protobuf merges the two, and the last value of a field wins. All other fields
 * stay as they were, unknown ones included.
 *
 * Throws RangeError for an empty CPU set, which the runtime would read as "leave it as it is".
 */
export function appendToCreate(message: Uint8Array, adjust: CpuAdjustment): Uint8Array {
  return concat(message, wrap(2, wrap(15, wrap(1, encodeResources(adjust)))));
}

/** The same for an UpdateContainerResourcesRequest, whose resources are its `linux`. */
export function appendToUpdate(message: Uint8Array, adjust: CpuAdjustment): Uint8Array {
  return concat(message, wrap(2, encodeResources(adjust)));
}

/** LinuxContainerResources { cpu_quota = 2, cpuset_cpus = 6, cpuset_mems = 7 }. */
function encodeResources({ cpus, mems, quotaUs }: CpuAdjustment): Uint8Array {
  const writer = new BinaryWriter();
  if (quotaUs !== undefined) writer.tag(2, WireType.Varint).int64(quotaUs);
  if (cpus) writer.tag(6, WireType.LengthDelimited).string(formatSet(cpus));
  if (mems) writer.tag(7, WireType.LengthDelimited).string(formatSet(mems));
  return writer.finish();
}

function formatSet(set: CpuSet): string {
  if (set.isEmpty)
    throw new RangeError('an empty set was about to be sent to the runtime, which reads it as "no change"');
  return set.toString();
}

function wrap(field: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(content).finish();
}

function concat(message: Uint8Array, addition: Uint8Array): Uint8Array {
  const changed = new Uint8Array(message.length + addition.length);
  changed.set(message);
  changed.set(addition, message.length);
  return changed;
}
