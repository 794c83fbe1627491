import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { TOPOLOGY_AWARE_RESOURCES } from '../cli/options/scheduling-options';
import { KubeClient, type KubeConfigSource } from '../kube';
import { withRight } from './rights';
import type { PluginContext } from './context';

/** Options that every command has. */
export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** The way to the daemon of a node. */
export interface DaemonOptions {
  readonly daemonNamespace: string;
  readonly daemonPort?: number;
  readonly via: 'auto' | 'proxy' | 'port-forward';
}

export type Format = 'table' | 'wide' | 'json' | 'yaml';

export function addClusterOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'the kubeconfig; by default those of KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'a context of it, instead of the current one');
}

export function addDaemonOptions(command: Command): Command {
  return command
    .option('--daemon-namespace <name>', 'where the DaemonSet of cpusetd is', 'cpusetd')
    .addOption(
      new Option(
        '--daemon-port <port>',
        'the port of --http-address; by default that of the pod’s arguments, else 14710',
      ).argParser(parsePort),
    )
    .addOption(
      new Option('--via <way>', 'how the API server reaches the daemon; auto: proxy where others reach its address')
        .choices(['auto', 'proxy', 'port-forward'])
        .default('auto'),
    );
}

export function createFormatOption(formats: readonly Format[] = ['table', 'wide', 'json', 'yaml']): Option {
  return new Option(
    '-o, --output <format>',
    formats.includes('wide') ? 'how to print; wide has all columns' : 'how to print',
  )
    .choices([...formats])
    .default('table');
}

export function createCpusOption(): Option {
  return new Option('--cpus <n>', 'would a new container of n CPUs fit, and what is in the way?').argParser(parseCount);
}

export function createResourcesOption(): Option {
  const { default: fallback } = TOPOLOGY_AWARE_RESOURCES;
  return new Option(
    '--topology-aware-resources <names>',
    'resources that count in each NUMA node, as the extender’s option of that name has them',
  )
    .argParser(parseResources)
    .default(parseResources(fallback), fallback);
}

/** A client with the identity of the kubeconfig that kubectl would take. */
export function connect({ kubeconfig, context: name }: ClusterOptions, { env, signal }: PluginContext): KubeClient {
  return new KubeClient(chooseSource(kubeconfig, name, env), signal, { userAgent: 'kubectl-cpuset' });
}

/** As kubectl chooses it: the option, KUBECONFIG, the file of the user, and in a pod its service account. */
export function chooseSource(
  kubeconfig: string | undefined,
  name: string | undefined,
  env: PluginContext['env'],
): KubeConfigSource {
  const context = name === undefined ? {} : { context: name };
  if (kubeconfig !== undefined) return { kind: 'files', paths: [kubeconfig], ...context };
  const paths = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  if (paths.length > 0) return { kind: 'files', paths, ...context };
  if (env['KUBERNETES_SERVICE_HOST'] !== undefined && env['HOME'] === undefined) return { kind: 'in-cluster' };
  return { kind: 'files', paths: [join(env['HOME'] ?? homedir(), '.kube/config')], ...context };
}

/** The namespace of the context in use. */
export async function namespaceOf(client: KubeClient): Promise<string> {
  const config = await withRight({ verb: 'read', resource: 'the kubeconfig' }, () => client.config());
  return config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
}

function parseResources(text: string): readonly string[] {
  const parsed = TOPOLOGY_AWARE_RESOURCES.type.parse(text);
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}; ${parsed.remedy}.`);
}

function parseCount(text: string): number {
  const count = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw new InvalidArgumentError('It is no number of CPUs; write a whole number from 1 on.');
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('It is no port; write a number from 1 to 65535.');
}
