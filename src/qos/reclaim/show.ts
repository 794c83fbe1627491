/** Thousandths of a CPU as CPUs with up to two decimals: `1.5`. */
export function showCpus(milliCpu: number): string {
  return String(Number((milliCpu / 1000).toFixed(2)));
}

/** Bytes in GiB with up to two decimals: `1.5 GiB`. */
export function showBytes(bytes: number): string {
  return `${Number((bytes / 2 ** 30).toFixed(2))} GiB`;
}
