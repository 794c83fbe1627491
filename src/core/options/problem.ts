/** A fault of an option. `because` names the input, the rule and the remedy. */
export interface OptionProblem {
  readonly kind: 'unknown-option' | 'bad-value' | 'incompatible' | 'none-policy-options';
  readonly because: string;
}

export type Parsed<T> =
  { readonly ok: true; readonly options: T } | { readonly ok: false; readonly problem: OptionProblem };

/** A refusal of options as a value. */
export function failWith(kind: OptionProblem['kind'], because: string): { ok: false; problem: OptionProblem } {
  return { ok: false, problem: { kind, because } };
}

const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

/** A boolean in one of the spellings that the kubelet reads; undefined for every other text. */
export function parseBoolean(text: string): boolean | undefined {
  if (TRUE.includes(text)) return true;
  return FALSE.includes(text) ? false : undefined;
}
