import { readdirSync } from 'node:fs';
import { CpuListError, parseCpuList, type CpuSet } from '../../core/cpuset';
import { shorten } from '../../core/text';
import { readBounded } from '../../files/read-bounded';
import { HostError } from '../host-error';

/** A sysfs file can't be read or contradicts another. The message names path, content, rule and remedy. */
export class SysfsError extends HostError {
  override readonly name = 'SysfsError';
  /** The message without its remedy. */
  readonly fact: string;
  readonly remedy: string;

  constructor(
    readonly path: string,
    problem: { readonly found: string; readonly rule: string; readonly remedy?: string },
    options?: ErrorOptions,
  ) {
    const remedy = problem.remedy ?? 'check that --sysfs-root is the sysfs of this node, mounted whole';
    const fact = `${path}: ${problem.found}; ${problem.rule}`;
    super(`${fact}; ${remedy}`, options);
    this.fact = fact;
    this.remedy = remedy;
  }
}

/** Every second CPU of 8,192 makes a list of 20 KB. */
const MAX_BYTES = 64 * 1024;

/**
 * The text of a sysfs file without the white space around it, or undefined when there is no such file. Kernels before
 * 4.0 end some lists with a NUL, which is cut too. Throws SysfsError.
 */
export function readOptional(path: string): string | undefined {
  const read = readBounded(path, MAX_BYTES);
  if (read.ok) return read.text.replace(/[\s\0]+$/, '').trimStart();
  if (read.kind === 'missing') return undefined;
  const rule = read.kind === 'unreadable' ? 'this file must be readable' : 'a small file is expected here';
  throw new SysfsError(path, { found: read.because, rule }, { cause: read.cause });
}

/** The same for a file that every machine has: its absence is a SysfsError. */
export function readText(path: string): string {
  const text = readOptional(path);
  if (text === undefined)
    throw new SysfsError(path, { found: 'no such file', rule: 'every online CPU and node has it' });
  return text;
}

/** A list of CPUs or nodes; the kernel writes `(null)` for a list that was never set, which counts as empty. */
export function parseList(path: string, text: string): CpuSet {
  if (text === '(null)') return parseCpuList('');
  try {
    return parseCpuList(text);
  } catch (error) {
    if (!(error instanceof CpuListError)) throw error;
    throw new SysfsError(
      path,
      { found: `read ${quote(text)}`, rule: 'a list like 0-3,8 is expected' },
      { cause: error },
    );
  }
}

/** Reads a whole number of at least `min`. Throws SysfsError. */
export function parseInteger(path: string, text: string, min: number): number {
  const value = /^-?\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min)) {
    throw new SysfsError(path, { found: `read ${quote(text)}`, rule: `a whole number of at least ${min} is expected` });
  }
  return value;
}

/** Quotes the text for a message: one line, bounded. */
export function quote(text: string): string {
  return JSON.stringify(shorten(text.trim(), 60));
}

/** The names in a folder that not every kernel has, in order; none when it can't be read. */
export function listNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
