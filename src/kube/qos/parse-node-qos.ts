import type { NodeQos, QosRule } from '../../qos/objects/objects';
import { type Field, MAX_INT, parseObject, type Parsed } from './field';
import { parseSelector } from './parse-selector';

/** Maximum number of rules of a NodeQOS: each is looked at in each round. */
const MAX_RULES = 100;

/**
 * Reads a NodeQOS of ensurance.crane.io/v1alpha1. One wrong rule refuses the whole object, so that no half of it is in
 * force.
 */
export function parseNodeQos(object: unknown): Parsed<NodeQos> {
  return parseObject('NodeQOS', object, (root) => {
    const spec = root.at('spec');
    const selector = parseSelector(spec.at('selector'));
    return {
      name: root.at('metadata').at('name').name('give it a name'),
      uid: root.at('metadata').at('uid').anyText(),
      ...(selector && { selector }),
      rules: parseRules(spec.at('rules')),
    };
  });
}

function parseRules(field: Field): readonly QosRule[] {
  const seen = new Set<string>();
  return field.list(MAX_RULES).map((entry) => {
    const name = entry.at('name').name('give each rule a name of its own');
    const rule = entry.called(name);
    if (seen.has(name)) rule.at('name').refuse('has to be the only rule of this name', 'rename one of them');
    seen.add(name);
    return parseRule(rule, name);
  });
}

function parseRule(rule: Field, name: string): QosRule {
  const metric = rule.at('metricRule');
  const selector = parseSelector(metric.at('selector'));
  const strategy = rule.at('strategy');
  return {
    name,
    metric: {
      name: metric.at('name').name('write the name of a metric, such as cpu_total_utilization'),
      ...(selector && { selector }),
      threshold: parseThreshold(metric.at('value')),
    },
    avoidanceThreshold: parseRounds(rule.at('avoidanceThreshold')),
    restoreThreshold: parseRounds(rule.at('restoreThreshold')),
    actionName: rule.at('actionName').name('write the name of an AvoidanceAction'),
    strategy: strategy.isAbsent ? 'None' : strategy.choice(['None', 'Preview']),
  };
}

/** Without a value, Crane takes 0, and any load fires. Nobody can mean that by leaving it out. */
function parseThreshold(field: Field): number {
  return field.whole() ?? field.refuse('has to be set', 'write the value above which the rule fires, such as 80');
}

/** 0 has the effect of 1, as in Crane: a count is compared after it was increased. */
function parseRounds(field: Field): number {
  return Math.max(1, field.int(0, MAX_INT, 1));
}
