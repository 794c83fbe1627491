/** One result of the checks. */
export interface Finding {
  /** Short and fixed: programs may go by it. */
  readonly check: string;
  readonly level: 'ok' | 'warning' | 'error';
  readonly text: string;
  /** The action that helps; absent for `ok`. */
  readonly remedy?: string;
}

export const ok = (check: string, text: string): Finding => ({ check, level: 'ok', text });
export const warning = (check: string, text: string, remedy: string): Finding => ({
  check,
  level: 'warning',
  text,
  remedy,
});
export const error = (check: string, text: string, remedy: string): Finding => ({
  check,
  level: 'error',
  text,
  remedy,
});
