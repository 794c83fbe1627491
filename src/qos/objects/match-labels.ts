import type { LabelExpression, LabelSelector } from './objects';

export type Labels = Readonly<Record<string, string>>;

/**
 * True when the labels satisfy all terms of a selector, by the rules of metav1.LabelSelector. `NotIn` and
 * `DoesNotExist` hold for a key that is missing; `matchLabels` and `In` do not, even for an empty value.
 */
export function matchLabels({ matchLabels, matchExpressions }: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every((term) => matchTerm(term, labelOf(labels, term.key)))
  );
}

function matchTerm({ operator, values }: LabelExpression, label: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return label === undefined || !values.includes(label);
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
  }
}

/** Only a label of its own: `constructor` is a valid key, and every object inherits one. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
