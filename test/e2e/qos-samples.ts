/** The Node of the token of cpusetd, and another one. */
export const [own, other] = ['node-a', 'node-b'] as const;

const named = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'ensurance.crane.io/v1alpha1',
  kind,
  metadata: { name },
  spec,
});
const prediction = (node: string): object => ({
  apiVersion: 'prediction.crane.io/v1alpha1',
  kind: 'TimeSeriesPrediction',
  metadata: { name: `noderesource-${node}`, namespace: 'crane-system' },
  spec: {
    targetRef: { apiVersion: 'v1', kind: 'Node', name: node },
    predictionWindowSeconds: 3600,
    predictionMetrics: [
      {
        resourceIdentifier: 'cpu',
        type: 'ExpressionQuery',
        expressionQuery: { expression: 'sum(rate(node_cpu_seconds_total[1m]))' },
        algorithm: {
          algorithmType: 'dsp',
          dsp: {
            sampleInterval: '60s',
            historyLength: '7d',
            estimators: { fft: [{ marginFraction: '0.1', maxNumOfSpectrumItems: 20 }] },
          },
        },
      },
    ],
  },
});

/** In the form of the template that Crane's chart installs. */
export const predictionTemplate = `
predictionMetrics:
- algorithm:
    algorithmType: dsp
    dsp:
      estimators:
        fft:
        - highFrequencyThreshold: "0.05"
          lowAmplitudeThreshold: "1.0"
          marginFraction: "0.2"
          maxNumOfSpectrumItems: 20
          minNumOfSpectrumItems: 10
      historyLength: 3d
      sampleInterval: 60s
  resourceIdentifier: cpu
  type: ExpressionQuery
  expressionQuery:
    expression: 'sum(node_cpu_seconds_total{instance=~"({{.metadata.name}})(:\\\\d+)?"})'
predictionWindowSeconds: 3600
`;

const rule = { name: 'cpu-usage', metricRule: { name: 'cpu_total_usage', value: 5000 }, actionName: 'eviction' };
/** Objects in the forms that Crane's pages show. */
export const samples: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'crane-system' } },
  named('NodeQOS', 'eviction-on-high-usage', {
    nodeQualityProbe: { timeoutSeconds: 10, nodeLocalGet: {} },
    selector: { matchLabels: { pool: 'batch' } },
    rules: [
      { ...rule, avoidanceThreshold: 2 },
      {
        name: 'memory-usage',
        metricRule: {
          name: 'memory_total_usage',
          value: '50Gi',
          selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
        },
        actionName: 'throttle',
        strategy: 'Preview',
      },
    ],
  }),
  named('PodQOS', 'batch', {
    allowedActions: ['eviction', 'throttle'],
    labelSelector: { matchLabels: { preemptible_job: 'true' } },
    scopeSelector: { matchExpressions: [{ scopeName: 'Priority', operator: 'In', values: ['0-3000'] }] },
    resourceQOS: { cpuQOS: { cpuPriority: 7 }, memoryQOS: { memPriority: 7 }, netIOQOS: { netIOPriority: 7 } },
  }),
  named('AvoidanceAction', 'disable-scheduling', { description: 'keeps new pods off the node' }),
  named('AvoidanceAction', 'throttle', {
    coolDownSeconds: 60,
    throttle: { cpuThrottle: { minCPURatio: 10, stepCPURatio: 10 }, memoryThrottle: { forceGC: true } },
  }),
  named('AvoidanceAction', 'eviction', { eviction: { terminationGracePeriodSeconds: 30 } }),
  prediction(own),
  prediction(other),
];

/** Objects that are refused, and a part of the message. */
export const wrong: readonly [what: string, object: object, because: string][] = [
  ['a rule without an action', named('NodeQOS', 'x', { rules: [{ name: 'a' }] }), 'spec.rules[0].actionName: Required'],
  ['a NodeQOS without a spec', { ...named('NodeQOS', 'x', {}), spec: undefined }, 'spec: Required'],
  [
    'a metric rule without a metric',
    named('NodeQOS', 'x', { rules: [{ ...rule, metricRule: { value: 1 } }] }),
    'spec.rules[0].metricRule.name: Required',
  ],
  [
    'a threshold that is no quantity',
    named('NodeQOS', 'x', { rules: [{ ...rule, metricRule: { name: 'a', value: 'much' } }] }),
    'spec.rules[0].metricRule.value in body should match',
  ],
  [
    'another strategy',
    named('NodeQOS', 'x', { rules: [{ ...rule, strategy: 'DryRun' }] }),
    'supported values: "None", "Preview"',
  ],
  [
    'limits of the network in part',
    named('NodeQOS', 'x', { netLimits: { rxBpsMax: 1 } }),
    'spec.netLimits.rxBpsMin: Required',
  ],
  ['a field of nobody', named('NodeQOS', 'x', { rule: [] }), 'unknown field "spec.rule"'],
  [
    'a CPU priority of 8',
    named('PodQOS', 'x', { resourceQOS: { cpuQOS: { cpuPriority: 8 } } }),
    'less than or equal to 7',
  ],
  [
    'a scope without an operator',
    named('PodQOS', 'x', { scopeSelector: { matchExpressions: [{ scopeName: 'Namespace' }] } }),
    'spec.scopeSelector.matchExpressions[0].operator: Required',
  ],
  [
    'a step of more than 100 per cent',
    named('AvoidanceAction', 'x', { throttle: { cpuThrottle: { stepCPURatio: 101 } } }),
    'less than or equal to 100',
  ],
  [
    'a description of 1025 letters',
    named('AvoidanceAction', 'x', { description: 'x'.repeat(1025) }),
    'may not be more than 1024',
  ],
];
