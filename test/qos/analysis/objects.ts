import { analyze, NOTHING_ANALYZED, type Analysis, type AnalysisInput } from '../../../src/qos/analysis/analyze';
import type { AvoidanceAction, NodeQos, QosRule } from '../../../src/qos/objects/objects';
import type { Metrics, Series } from '../../../src/qos/usage/metrics';

export const CPU = 'cpu_total_utilization';

export const actionOf = (name: string, fields: Partial<AvoidanceAction> = {}): AvoidanceAction => ({
  name,
  coolDownSeconds: 300,
  ...fields,
});

export const ruleOf = (
  name: string,
  fields: Partial<QosRule> = {},
  metric: Partial<QosRule['metric']> = {},
): QosRule => ({
  name,
  metric: { name: CPU, threshold: 80, ...metric },
  avoidanceThreshold: 1,
  restoreThreshold: 1,
  actionName: 'throttle',
  strategy: 'None',
  ...fields,
});

export const nodeQosOf = (name: string, rules: readonly QosRule[], fields: Partial<NodeQos> = {}): NodeQos => ({
  name,
  uid: `uid-${name}`,
  rules,
  ...fields,
});

export const seriesOf = (value: number, labels: Record<string, string> = {}): Series => ({ labels, value, atMs: 0 });

/** One series without labels for each value. */
export const metricsOf = (values: Readonly<Record<string, number | readonly Series[]>>): Metrics =>
  new Map(
    Object.entries(values).map(
      ([name, value]) => [name, typeof value === 'number' ? [seriesOf(value)] : value] as const,
    ),
  );

export const byName = (...actions: AvoidanceAction[]): ReadonlyMap<string, AvoidanceAction> =>
  new Map(actions.map((action) => [action.name, action]));

export const ROUND_MS = 10_000;

/** Runs rounds, ten seconds apart; what a round does not name is as before. */
export class Rounds {
  private state = NOTHING_ANALYZED;
  private input: AnalysisInput = {
    nodeQoss: [nodeQosOf('q', [ruleOf('r')])],
    actions: byName(actionOf('throttle')),
    metrics: new Map(),
    nodeLabels: {},
    nowMs: 0,
    lostAfterRounds: 3,
  };

  constructor(input: Partial<AnalysisInput> = {}) {
    this.input = { ...this.input, ...input };
  }

  get remembered(): typeof NOTHING_ANALYZED {
    return this.state;
  }

  run(input: Partial<AnalysisInput> = {}): Analysis {
    this.input = { ...this.input, nowMs: this.input.nowMs + ROUND_MS, ...input };
    const analysis = analyze(this.state, this.input);
    this.state = analysis.state;
    return analysis;
  }

  /** One round with this value of the metric; undefined = no series. */
  value(value: number | undefined, input: Partial<AnalysisInput> = {}): Analysis {
    return this.run({ metrics: value === undefined ? new Map() : metricsOf({ [CPU]: value }), ...input });
  }
}
