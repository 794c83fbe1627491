import type { BinaryReader } from '@bufbuild/protobuf/wire';
import { HugePageAmounts, nameOfPageSize } from '../../core/huge-pages';
import type { CpuResources } from '../../core/model/events';
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
export function readResources(source: BinaryReader, resources: Resources): void {
  readFields(source, {
    1: (reader) => (resources.periodUs = readNumber(reader)),
    2: (reader) => (resources.quotaUs = readNumber(reader)),
    3: (reader) => (resources.shares = readNumber(reader)),
    4: (reader) => (resources.memoryLimitBytes = readNumber(reader)),
    5: (reader) => (resources.oomScoreAdj = readNumber(reader)),
    6: (reader) => (resources.cpus = reader.string()),
    7: (reader) => (resources.mems = reader.string()),
    8: (reader) => readHugePageLimit(reader, (resources.hugePages ??= new HugePageAmounts())),
  });
}

function readHugePageLimit(source: BinaryReader, amounts: HugePageAmounts): void {
  let [pageSize, limit] = ['', 0];
  readFields(source, {
    1: (reader) => (pageSize = reader.string()),
    2: (reader) => (limit = Number(reader.uint64())),
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

/** Beyond 2^53 the low bits are lost; only "no limit" is ever that large. */
function readNumber(reader: BinaryReader): number {
  return Number(reader.int64());
}
