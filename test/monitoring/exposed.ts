import { Metrics } from '../../src/admin/metrics/metrics';
import { AuditTally } from '../../src/core/audit/tally-audit';
import { INTERRUPT_KINDS } from '../../src/host/proc/interrupts';
import { sampleReading } from '../admin/metrics/sample-usage';
import { sampleLent, sampleQos, sampleStatus } from '../admin/sample-status';
import { NodeDriver } from '../core/transition/node-driver';

/** Everything that a daemon can expose, with all options on. */
export function createMetrics(): Metrics {
  const metrics = new Metrics({
    status: () => sampleStatus,
    node: new NodeDriver().run('make p/a 2').model,
    containerSeries: true,
  });
  metrics.addProcessFigures();
  metrics.addAudit().note({
    tasks: new AuditTally([], 0).totals(),
    interrupts: Object.fromEntries(INTERRUPT_KINDS.map((kind) => [kind, 0])),
    stealMs: 0,
    atMs: 0,
    busyMs: 0,
  });
  metrics.addIrqAffinity(() => ({ moved: 1, refused: 0 }));
  metrics.addUsage(() => sampleReading(Date.now()), { maxAgeMs: () => 3_600_000 });
  metrics.addQos(() => ({ qos: sampleQos, lent: sampleLent }));
  return metrics;
}

/** The labels of each sample name, those that a scrape adds included. */
export function readLabels(exposition: string): ReadonlyMap<string, ReadonlySet<string>> {
  const labels = new Map<string, Set<string>>([['up', new Set(['cluster', 'instance', 'job'])]]);
  for (const [, name, inBraces = ''] of exposition.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const known = labels.get(name!) ?? new Set(['cluster', 'instance', 'job']);
    for (const [, label] of inBraces.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label!);
    labels.set(name!, known);
  }
  return labels;
}
