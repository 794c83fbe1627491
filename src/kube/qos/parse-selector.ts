import type { LabelExpression, LabelSelector } from '../../qos/objects/objects';
import type { Field } from './field';

/** Maximum number of terms of a selector, and of values of one term. */
export const MAX_TERMS = 100;
export const MAX_VALUES = 1_000;

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** Reads a metav1.LabelSelector, with its rules for values; undefined when it is absent. */
export function parseSelector(field: Field): LabelSelector | undefined {
  if (field.isAbsent) return undefined;
  return {
    matchLabels: field.at('matchLabels').texts(MAX_TERMS),
    matchExpressions: field.at('matchExpressions').list(MAX_TERMS).map(parseExpression),
  };
}

function parseExpression(field: Field): LabelExpression {
  const key = field.at('key').name('write the key of a label');
  const operator = field.at('operator').choice(OPERATORS);
  const list = field.at('values');
  const values = list.list(MAX_VALUES).map((value) => value.anyText());
  const takesValues = operator === 'In' || operator === 'NotIn';
  if (takesValues && values.length === 0) list.refuse(`has to have a value for ${operator}`, 'write one');
  if (!takesValues && values.length > 0) list.refuse(`has to be empty for ${operator}`, 'remove it');
  return { key, operator, values };
}
