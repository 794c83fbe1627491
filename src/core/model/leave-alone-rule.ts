import type { LeaveAloneRule } from './settings';

/** A name in Kubernetes, in which `*` stands for any text. */
const NAME = '[a-z0-9*](?:[a-z0-9*.-]*[a-z0-9*])?';

/** The source of a pattern for one rule: `NAMESPACE[/POD[/CONTAINER]]`. */
export const LEAVE_ALONE_PATTERN = `${NAME}(?:/${NAME}){0,2}`;

const RULE = new RegExp(`^${LEAVE_ALONE_PATTERN}$`);

/** Reads one rule; undefined for a text that is none. */
export function parseLeaveAloneRule(text: string): LeaveAloneRule | undefined {
  if (!RULE.test(text)) return undefined;
  const [namespace = '', pod, container] = text.split('/');
  return { text, namespace, ...(pod !== undefined && { pod }), ...(container !== undefined && { container }) };
}
