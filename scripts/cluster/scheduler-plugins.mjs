// The scheduler of scheduler-plugins, which has the plugin NodeResourceTopologyMatch: what it needs before it starts.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureGoPrograms } from '../go-programs/build.mjs';

/** The name of the component and of its program. */
export const schedulerPlugins = 'kube-scheduler-plugins';

const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));
const definition = join(deploy, 'crds/noderesourcetopologies.topology.node.k8s.io.yaml');

/** The kubeconfig that the schedulers' examples of `deploy` name. */
export const kubeconfigOfExamples = '/etc/kubernetes/scheduler.conf';

/**
 * Gets the program, writes its configuration, and applies the definition of NodeResourceTopology and the rights to read
 * it.
 * @param {object} options
 * @param {string} options.work the folder of the control plane
 * @param {string} options.programs the folder with kubectl
 * @param {string} [options.schedulerConfig] the path of a KubeSchedulerConfiguration
 * @param {import('../shared/log.mjs').Log} options.log
 * @returns {{ program: string, configFile: string }}
 */
export function prepareSchedulerPlugins({ work, programs, schedulerConfig, log }) {
  const { dir } = ensureGoPrograms('scheduler-plugins', { log });
  const example = readFileSync(schedulerConfig ?? join(deploy, 'scheduler-plugins/scheduler.yaml'), 'utf8');
  const configFile = join(work, 'scheduler-plugins.yaml');
  writeFileSync(configFile, example.replaceAll(kubeconfigOfExamples, join(work, 'kube-scheduler.kubeconfig')));
  /** @param {string[]} args */
  const kubectl = (...args) =>
    execFileSync(join(programs, 'kubectl'), ['--kubeconfig', join(work, 'admin.kubeconfig'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  kubectl('apply', '--server-side', '-f', definition, '-f', join(deploy, 'scheduler-plugins/rbac.yaml'));
  kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', definition);
  return { program: join(dir, schedulerPlugins), configFile };
}
