/** Bytes of huge pages by the resource that Kubernetes counts them as, such as `hugepages-2Mi`. */
export type HugePages = Readonly<Record<string, number>>;

/** An x86 machine has pages of two sizes, an arm64 machine of four. */
const MAX_SIZES = 8;
const UNITS = ['Ki', 'Mi', 'Gi'] as const;

/** The resource of huge pages of this size; undefined for a size that no kernel has. */
export function nameHugePages(pageKib: number): string | undefined {
  if (!Number.isSafeInteger(pageKib) || pageKib < 1 || !Number.isInteger(Math.log2(pageKib))) return undefined;
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(pageKib) / 10));
  return `hugepages-${pageKib / 1024 ** unit}${UNITS[unit]}`;
}

/** The resource by the size as runtimes write it: `2MB`, `1GB`, `64KB`, in units of 1024. */
export function nameOfPageSize(text: string): string | undefined {
  const [, number, unit] = /^([1-9]\d{0,5})([KMG])B$/.exec(text) ?? [];
  return number === undefined ? undefined : nameHugePages(Number(number) * 1024 ** 'KMG'.indexOf(unit!));
}

/**
 * Collects the huge pages of one request or node. More sizes than a machine can have are left out, and so is what is no
 * size or no amount.
 */
export class HugePageAmounts {
  private readonly bytesOf = new Map<string, number>();

  /** A later amount replaces an earlier one; 0 takes it away, and so does one that stands for no limit. */
  set(resource: string | undefined, bytes: number): void {
    if (resource === undefined) return;
    if (!Number.isSafeInteger(bytes) || bytes <= 0) this.bytesOf.delete(resource);
    else if (this.bytesOf.has(resource) || this.bytesOf.size < MAX_SIZES) this.bytesOf.set(resource, bytes);
  }

  /** Undefined when there are none. In the order of the names, so that equal amounts look the same. */
  get all(): HugePages | undefined {
    if (this.bytesOf.size === 0) return undefined;
    return Object.fromEntries([...this.bytesOf].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
