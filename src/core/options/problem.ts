/** What is wrong with an option. `because` names the input, the rule and the remedy. */
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
