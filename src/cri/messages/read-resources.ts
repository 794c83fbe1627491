import { HugePageAmounts, nameOfPageSize } from '../../core/huge-pages';
import type { CpuResources } from '../../core/model/events';
import type { ProtobufReader } from '../../wire/protobuf';
import { readFields } from './read-fields';

/** Fields of `LinuxContainerResources`, zero and empty included: a later occurrence may set a field back. */
export interface Resources {
  shares?: number;
  quotaUs?: number;
  periodUs?: number;
  memoryLimitBytes?: number;
  oomScoreAdj?: number;
  cpus?: string;
  mems?: string;
  /** By the size as the message has it; absent when the message names none. */
  hugePages?: HugePageAmounts;
}

/** Reads a `LinuxContainerResources` into `resources`. */
export function readResources(source: ProtobufReader, resources: Resources): void {
  readFields(source, {
    1: (reader) => (resources.periodUs = reader.readInt64()),
    2: (reader) => (resources.quotaUs = reader.readInt64()),
    3: (reader) => (resources.shares = reader.readInt64()),
    4: (reader) => (resources.memoryLimitBytes = reader.readInt64()),
    5: (reader) => (resources.oomScoreAdj = reader.readInt64()),
    6: (reader) => (resources.cpus = reader.readString()),
    7: (reader) => (resources.mems = reader.readString()),
    8: (reader) => readHugePageLimit(reader, (resources.hugePages ??= new HugePageAmounts())),
  });
}

function readHugePageLimit(source: ProtobufReader, amounts: HugePageAmounts): void {
  let [pageSize, limit] = ['', 0];
  readFields(source, {
    1: (reader) => (pageSize = reader.readString()),
    2: (reader) => (limit = reader.readVarint()),
  });
  amounts.set(nameOfPageSize(pageSize), limit);
}

/** CRI's zero and empty text mean "not set". */
export function toCpuResources({ oomScoreAdj: _oom, hugePages, ...resources }: Resources): CpuResources {
  const pages = hugePages?.all;
  return {
    ...Object.fromEntries(Object.entries(resources).filter(([, value]) => value !== 0 && value !== '')),
    ...(pages && { hugePages: pages }),
  };
}
