import { CpuSet } from './cpu-set';
import { CpuListError } from './parse-cpu-list';

/** Reads a mask of CPUs: hexadecimal, in groups of 32 bits. Throws CpuListError for another text. */
export function parseCpuMask(text: string): CpuSet {
  const groups = text.split(',');
  if (!groups.every((group) => /^[0-9a-f]{1,8}$/i.test(group))) throw new CpuListError(`not a mask of CPUs: ${text}`);
  return CpuSet.of(
    groups.reverse().flatMap((group, word) => {
      const bits = Number.parseInt(group, 16);
      return Array.from({ length: 32 }, (_, bit) => bit).flatMap((bit) =>
        (bits >>> bit) & 1 ? [word * 32 + bit] : [],
      );
    }),
  );
}

/** Writes a set as such a mask, with eight digits in each group. */
export function formatCpuMask(cpus: CpuSet): string {
  const words: number[] = [0];
  for (const cpu of cpus) {
    while (words.length <= cpu >>> 5) words.push(0);
    words[cpu >>> 5]! |= 1 << (cpu & 31);
  }
  return words
    .map((word) => (word >>> 0).toString(16).padStart(8, '0'))
    .reverse()
    .join(',');
}
