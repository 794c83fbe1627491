import type { Alarms } from '../alarms/alarms';
import { messageOf } from '../alarms/faults';

/** No directory has this name: what holds for all of them. */
export const ROOT = '';

/** The reasons for which files can't be written. They are one alarm, which ends with the last of them. */
export class WriteFailures {
  /** By directory; `ROOT` for all of them. */
  private readonly reasons = new Map<string, string>();

  constructor(private readonly alarms: Pick<Alarms, 'update'>) {}

  /** A file can't be written. */
  add(name: string, error: unknown): void {
    this.reasons.set(name, messageOf(error));
    this.show();
  }

  /** The files in these directories could be written, or are not needed any more. */
  clear(...names: readonly string[]): void {
    if (names.filter((name) => this.reasons.delete(name)).length > 0) this.show();
  }

  private show(): void {
    const [first, ...others] = new Set(this.reasons.values());
    const more = others.length > 0 ? `; and ${others.length} more` : '';
    this.alarms.update('cpu-identity', '', first === undefined ? undefined : `${first}${more}`);
  }
}
