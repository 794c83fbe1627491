import type { PodQos, PodScope } from '../../qos/objects/objects';
import { parsePriorityRange } from '../../qos/objects/priority-range';
import { type Field, parseObject, type Parsed } from './field';
import { MAX_TERMS, MAX_VALUES, parseSelector } from './parse-selector';

const MAX_ACTIONS = 100;
const SCOPES = ['QOSClass', 'Priority', 'Namespace'] as const;
const CLASSES = ['Guaranteed', 'Burstable', 'BestEffort'] as const;

/** Reads a PodQOS of ensurance.crane.io/v1alpha1. What Crane ignores and so selects more pods by is refused. */
export function parsePodQos(object: unknown): Parsed<PodQos> {
  return parseObject('PodQOS', object, (root) => {
    const spec = root.at('spec');
    const labelSelector = parseSelector(spec.at('labelSelector'));
    return {
      name: root.at('metadata').at('name').name('give it a name'),
      ...(labelSelector && { labelSelector }),
      scopes: spec.at('scopeSelector').at('matchExpressions').list(MAX_TERMS).map(parseScope),
      allowedActions: spec
        .at('allowedActions')
        .list(MAX_ACTIONS)
        .map((action) => action.name('write the name of an AvoidanceAction')),
    };
  });
}

function parseScope(scope: Field): PodScope {
  const name = scope.at('scopeName').choice(SCOPES);
  const operator = scope.at('operator').choice(['In', 'NotIn']);
  const list = scope.at('values');
  const values = list.list(MAX_VALUES).map((value) => parseValue(name, value));
  if (values.length === 0) list.refuse('has to have a value', 'write one');
  return { name, operator, values };
}

function parseValue(name: PodScope['name'], field: Field): string {
  if (name === 'QOSClass') return field.choice(CLASSES);
  const value = field.name('write a value');
  if (name === 'Priority' && !parsePriorityRange(value))
    field.refuse('has to be a priority or two, the smaller one first', 'write 1000 or 1000-3000');
  return value;
}
