/** What sysfs says about the machine cannot be read or contradicts itself. The message names path, what was read, rule and remedy. */
export class SysfsError extends Error {
  override readonly name = 'SysfsError';

  constructor(
    readonly path: string,
    problem: { readonly found: string; readonly rule: string; readonly remedy?: string },
    options?: ErrorOptions,
  ) {
    const remedy = problem.remedy ?? 'check that --sysfs-root is the sysfs of this node, mounted whole';
    super(`${path}: ${problem.found}; ${problem.rule}; ${remedy}`, options);
  }
}

/** The text as it is quoted in a message: one line, bounded. */
export function quote(text: string): string {
  const line = text.trim();
  return JSON.stringify(line.length <= 60 ? line : `${line.slice(0, 57)}...`);
}
