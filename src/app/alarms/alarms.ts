import type { Logger } from 'pino';
import type { Alarm, AlarmKind } from '../../admin/model/alarm';
import { boundText } from '../../core/show-text';

/**
 * Keeps the problems that need an operator, as long as they last: they are in status, health and metrics, and once in
 * the log.
 */
export class Alarms {
  private readonly raised = new Map<string, Alarm>();
  /** For the log: the names of a container that the subject is the id of. */
  private readonly facts = new Map<string, object>();

  constructor(
    private readonly parts: { readonly log: Logger; readonly now: () => string; readonly onChange: () => void },
  ) {}

  /**
   * Raises an alarm about a subject (a container, an option, or the empty text for the node); no news when it is raised
   * already.
   */
  raise(kind: AlarmKind, subject: string, reason: string, facts: object = {}): void {
    const because = boundText(reason);
    const key = `${kind}/${subject}`;
    if (this.raised.has(key)) return;
    this.raised.set(key, { kind, subject, because, since: this.parts.now() });
    this.facts.set(key, facts);
    this.parts.log.error({ alarm: kind, subject, ...facts, because }, 'alarm');
    this.parts.onChange();
  }

  /**
   * Sets the reason of an alarm; undefined clears it. An alarm that goes on for another reason is not over in between.
   */
  update(kind: AlarmKind, subject: string, reason: string | undefined): void {
    const key = `${kind}/${subject}`;
    if (reason === undefined) this.clear(kind, subject);
    else if (this.raised.get(key)?.because !== boundText(reason)) {
      this.raised.delete(key);
      this.raise(kind, subject, reason);
    }
  }

  clear(kind: AlarmKind, subject: string): void {
    const key = `${kind}/${subject}`;
    if (!this.raised.delete(key)) return;
    this.parts.log.info({ alarm: kind, subject, ...this.facts.get(key) }, 'alarm is over');
    this.facts.delete(key);
    this.parts.onChange();
  }

  list(): readonly Alarm[] {
    return [...this.raised.values()];
  }
}
