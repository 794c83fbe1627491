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

interface Config {
  readonly extenders: readonly [Readonly<Record<string, unknown>>];
  readonly clientConnection?: object;
}

const read = (name: string): Config =>
  parse(readFileSync(join(projectRoot(), 'deploy/scheduling', name), 'utf8')) as Config;

/**
 * The configuration of a kube-scheduler with these settings of its extender, and without long pauses between retries of
 * a pod.
 *
 * @param settings undefined: the scheduler has no extender
 * @param options `isOwn`: as deploy/scheduling/scheduler-config.yaml has it, for pods that name that scheduler.
 * Otherwise its extender is given to the scheduler of all pods, which is how most tests use it. `kubeconfig` is that of
 * kube-scheduler-config.yaml by default.
 */
export function formatSchedulerConfig(
  settings: ExtenderSettings | undefined,
  {
    isOwn = false,
    kubeconfig,
    ...more
  }: { isOwn?: boolean; kubeconfig?: string } & Readonly<Record<string, unknown>> = {},
): string {
  const { extenders, ...own } = read('scheduler-config.yaml');
  const { extenders: _, ...common } = read('kube-scheduler-config.yaml');
  return stringify({
    ...(isOwn ? own : common),
    ...(kubeconfig !== undefined && { clientConnection: { kubeconfig } }),
    podMaxBackoffSeconds: 1,
    ...(settings && { extenders: [applySettings(extenders[0], settings)] }),
    ...more,
  });
}

/**
 * deploy/scheduling/kube-scheduler-config.yaml, for the cluster's own kube-scheduler, with the extender at this address
 * over plain HTTP.
 */
export function formatFirstSchedulerConfig(urlPrefix: string): string {
  const { extenders, ...config } = read('kube-scheduler-config.yaml');
  return stringify({ ...config, podMaxBackoffSeconds: 1, extenders: [applySettings(extenders[0], { urlPrefix })] });
}

function applySettings({ tlsConfig, ...extender }: Readonly<Record<string, unknown>>, settings: ExtenderSettings) {
  const secured = { tlsConfig, enableHTTPS: true };
  return { ...extender, ...(settings.tlsConfig ? secured : { enableHTTPS: false }), ...settings };
}
