import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { CpuSet } from '../../core/cpuset';
import { DIRECTORY_IN_CONTAINER, variablesOf } from '../../core/identity/where';
import type { IdentityMount } from '../../core/model/cpu-identity';
import type { CpuAdjustment } from '../../core/model/events';

/**
 * A CreateContainerRequest with the resources of its container changed, by appending a second `config { linux {
 * resources { … } } }`: a reader of protobuf merges the two, and the last value of a field wins. All other fields stay
 * as they were, unknown ones included. A mount and variables are added to the lists of the same `config`.
 *
 * Throws RangeError for an empty CPU set, which the runtime would read as "leave it as it is".
 */
export function appendToCreate(
  message: Uint8Array,
  { adjust, mount }: { readonly adjust?: CpuAdjustment; readonly mount?: IdentityMount },
): Uint8Array {
  if (adjust === undefined && mount === undefined) return message;
  const config = new BinaryWriter();
  if (mount) addMount(config, mount);
  if (adjust) config.tag(15, WireType.LengthDelimited).bytes(wrap(1, encodeResources(adjust)));
  return concat(message, wrap(2, config.finish()));
}

/**
 * ContainerConfig { envs = 6 { key = 1, value = 2 }, mounts = 7 { container_path = 1, host_path = 2, readonly = 3 } }.
 */
function addMount(config: BinaryWriter, mount: IdentityMount): void {
  for (const [key, value] of variablesOf(mount))
    config
      .tag(6, WireType.LengthDelimited)
      .fork()
      .tag(1, WireType.LengthDelimited)
      .string(key)
      .tag(2, WireType.LengthDelimited)
      .string(value)
      .join();
  config
    .tag(7, WireType.LengthDelimited)
    .fork()
    .tag(1, WireType.LengthDelimited)
    .string(DIRECTORY_IN_CONTAINER)
    .tag(2, WireType.LengthDelimited)
    .string(mount.hostDirectory)
    .tag(3, WireType.Varint)
    .bool(true)
    .join();
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
