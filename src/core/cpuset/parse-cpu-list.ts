import { CpuSet, MAX_CPU_ID, type CpuRange } from './cpu-set';

/** A list that is not in the kernel's list format. The message names the input and what is wrong with it. */
export class CpuListError extends Error {
  override readonly name = 'CpuListError';
}

const PART = /^(\d{1,9})(?:-(\d{1,9}))?$/;

/**
 * Reads a list of CPUs or memory nodes in the kernel's list format, as in `/sys/devices/system/cpu/online`:
 * decimal ids and ranges, separated by commas (`0-3,8`). White space around the list and its parts is allowed.
 * The empty text is the empty set.
 *
 * Throws CpuListError for anything else: no signs, no open or reversed ranges, no strides, no empty parts.
 */
export function parseCpuList(text: string): CpuSet {
  return CpuSet.ofRanges(parseCpuRanges(text));
}

/** The same for a list that another program wrote; undefined when it is in another format. */
export function tryParseCpuList(text: string): CpuSet | undefined {
  try {
    return parseCpuList(text);
  } catch (error) {
    if (error instanceof CpuListError) return undefined;
    throw error;
  }
}

/**
 * The ranges of such a list as they are written, a single id as a range of one. The cost does not depend on the size of
 * a range. Throws as `parseCpuList` does.
 */
export function parseCpuRanges(text: string): readonly CpuRange[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  const ranges: CpuRange[] = [];
  let named = 0;
  for (const part of trimmed.split(',')) {
    const match = PART.exec(part.trim());
    if (!match)
      throw new CpuListError(
        `"${shorten(text)}" is not a CPU list: "${shorten(part)}" is not an id or a range; write it like 0-3,8`,
      );
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first)
      throw new CpuListError(`"${shorten(text)}" is not a CPU list: the range ${part.trim()} runs backwards`);
    if (last > MAX_CPU_ID)
      throw new CpuListError(`"${shorten(text)}" is not a CPU list: ${last} is above the highest CPU id ${MAX_CPU_ID}`);
    ranges.push([first, last]);
    named += last - first + 1;
    if (named > 4 * MAX_CPU_ID) throw new CpuListError(`"${shorten(text)}" is not a CPU list: it names too many CPUs`);
  }
  return ranges;
}

function shorten(text: string): string {
  return text.length <= 60 ? text.trim() : `${text.trim().slice(0, 57)}...`;
}
