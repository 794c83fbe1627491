import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { projectRoot } from '../../../e2e/rig/project-root';

/** The fields of an extender in a KubeSchedulerConfiguration that tests change. */
export interface ExtenderSettings {
  readonly urlPrefix: string;
  readonly nodeCacheCapable?: boolean;
  readonly ignorable?: boolean;
  readonly tlsConfig?: Readonly<Record<string, string>>;
}

interface Configuration {
  podMaxBackoffSeconds?: number;
  extenders: Record<string, unknown>[];
}

/**
 * The text of deploy/scheduling/kube-scheduler-config.yaml with these settings of its extender, and without long pauses between retries of a
 * pod. Without `tlsConfig` the extender is called over plain HTTP.
 */
export function formatSchedulerConfig(settings: ExtenderSettings): string {
  const text = readFileSync(join(projectRoot(), 'deploy/scheduling/kube-scheduler-config.yaml'), 'utf8');
  const config = parse(text) as Configuration;
  const [extender = {}] = config.extenders;
  if (settings.tlsConfig === undefined) {
    delete extender['tlsConfig'];
    extender['enableHTTPS'] = false;
  }
  config.extenders = [{ ...extender, ...settings }];
  config.podMaxBackoffSeconds = 1;
  return stringify(config);
}
