/** The name of a file of a journal. They are numbered in the order of writing. */
export function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.jsonl`;
}

/** The number of the file; undefined for a name that is none of ours. */
export function segmentNumber(name: string): number | undefined {
  const [, digits] = /^(\d{8,15})\.jsonl$/.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The files of a journal among those of its directory, the oldest first. */
export function sortSegments<T extends { readonly name: string }>(files: readonly T[]): readonly T[] {
  return files
    .filter(({ name }) => segmentNumber(name) !== undefined)
    .sort((a, b) => segmentNumber(a.name)! - segmentNumber(b.name)!);
}
