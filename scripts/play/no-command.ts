/** Thrown for a line or an option that cannot be understood. The message has the rule. */
export class NoCommand extends Error {}
