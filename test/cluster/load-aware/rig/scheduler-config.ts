import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { projectRoot } from '../../../e2e/rig/project-root';

/** The fields of an extender in a KubeSchedulerConfiguration that tests change. */
export interface ExtenderSettings {
  readonly urlPrefix: string;
  readonly nodeCacheCapable?: boolean;
  readonly ignorable?: boolean;
  readonly weight?: number;
  /** Empty: the extender does not bind. */
  readonly bindVerb?: string;
  /** Absent: the extender is called over plain HTTP. */
  readonly tlsConfig?: Readonly<Record<string, string>>;
}

/**
 * The text of deploy/scheduling/kube-scheduler-config.yaml with these settings of its extender, and without long pauses between retries of a
 * pod.
 * @param settings undefined: the scheduler has no extender
 * @param more further fields of the configuration
 */
export function formatSchedulerConfig(
  settings: ExtenderSettings | undefined,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const text = readFileSync(join(projectRoot(), 'deploy/scheduling/kube-scheduler-config.yaml'), 'utf8');
  const { extenders, ...config } = parse(text) as { extenders: [Record<string, unknown>] };
  return stringify({
    ...config,
    podMaxBackoffSeconds: 1,
    ...(settings && { extenders: [applySettings(extenders[0], settings)] }),
    ...more,
  });
}

function applySettings({ tlsConfig, ...extender }: Record<string, unknown>, settings: ExtenderSettings) {
  const secured = { tlsConfig, enableHTTPS: true };
  return { ...extender, ...(settings.tlsConfig ? secured : { enableHTTPS: false }), ...settings };
}
