import { showText } from '../../core/show-text';

// Prometheus' text format, written here where there are many series: prom-client needs ten times as long for them.

/** Most containers with series of their own. */
export const MAX_CONTAINERS = 250;
/** Longest value of a label: the longest name in Kubernetes. */
const MAX_LABEL = 253;

export type Labels = Readonly<Record<string, string>>;

/** The lines that begin a gauge. */
export function formatHead(name: string, help: string): readonly string[] {
  return [`# HELP cpusetd_${name} ${help}`, `# TYPE cpusetd_${name} gauge`];
}

export function formatLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`)
    .join(',');
}

/** A value of a label without line breaks. */
export function boundLabel(label: string): string {
  return showText(label, MAX_LABEL);
}

/**
 * A gauge with its samples; nothing without any. A value that is no number is left out. Of two samples with the same
 * labels the later counts: Prometheus refuses all figures of an answer that has both.
 */
export function formatGauge(
  name: string,
  help: string,
  samples: readonly (readonly [labels: Labels, value: number | undefined])[],
): readonly string[] {
  const values = new Map<string, number>();
  for (const [labels, value] of samples)
    if (value !== undefined && Number.isFinite(value)) values.set(formatLabels(labels), value);
  if (values.size === 0) return [];
  const lines = Array.from(values, ([labels, value]) => `cpusetd_${name}${labels && `{${labels}}`} ${value}`);
  return [...formatHead(name, help), ...lines];
}
