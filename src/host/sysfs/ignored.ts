import { SysfsError } from './read-file';

/** Most sentences that are kept: a machine of 1,000 CPUs may have one for each. */
const MAX_SENTENCES = 20;

/**
 * Collects what is wrong with sysfs where the machine can be read without it: pinning needs the online CPUs and their
 * cores, and goes without the rest.
 */
export class Ignored {
  private readonly sentences = new Set<string>();
  private left = 0;

  /** `doubt` is a file with what it says and why that can't be, `instead` what is taken to be true. */
  add(doubt: string, instead: string): void {
    const sentence = `${doubt}; ${instead}`;
    if (this.sentences.size < MAX_SENTENCES) this.sentences.add(sentence);
    else if (!this.sentences.has(sentence)) this.left++;
  }

  /** The result of `read`, or `instead` where it throws a SysfsError. */
  attempt<T>(read: () => T, fallback: T, instead: string): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SysfsError)) throw error;
      this.add(error.fact, instead);
      return fallback;
    }
  }

  list(): readonly string[] {
    return [...this.sentences, ...(this.left === 0 ? [] : [`${this.left} more like these`])];
  }
}
