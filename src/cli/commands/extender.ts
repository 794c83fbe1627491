import type { Command } from 'commander';

import { keyValues } from '../../option-types/cpu-types';
import { kubeconfigSource } from '../../option-types/kube-types';
import { filePath, goBoolean } from '../../option-types/net-types';
import { hostPort } from '../../option-types/system-types';
import { accept, matching, oneOf, reject, wholeNumber, type ValueType } from '../../option-types/value-type';
import { MAX_JSON_BYTES } from '../../core/bounded-json';
import type { KubeConfigSource } from '../../kube';
import { formatHostPort, isLoopback } from '../../net/host-port';
import type { TlsPaths } from '../../net/tls-files';
import { MAX_WEIGHT, PLUGIN_NAMES, type PluginWeights } from '../../scheduling/extender/plugins';
import { UsageError, type CliContext, type ExitStatus } from '../context';
import { COMMON_FLAGS, runProgram, TOPOLOGY_AWARE_RESOURCES } from '../options/scheduling-options';
import { addTypedOptions, readTypedOptions } from '../options/typed-options';

const MIB = 1_048_576;

/** `Dynamic=3,NodeResourceTopologyMatch=2`. */
const plugins: ValueType<PluginWeights> = {
  placeholder: 'name=weight,...',
  parse: (text) => {
    const pairs = keyValues.parse(text);
    if (!pairs.ok) return pairs;
    if (pairs.value.size === 0) return reject('names no plugin', `write ${PLUGIN_NAMES.join('=1 or ')}=1`);
    for (const [name, weight] of pairs.value) {
      if (!PLUGIN_NAMES.some((known) => known === name))
        return reject(`names ${name}, which is no plugin`, `choose from ${PLUGIN_NAMES.join(', ')}`);
      if (!/^\d{1,4}$/.test(weight) || Number(weight) < 1 || Number(weight) > MAX_WEIGHT)
        return reject(
          `gives ${name} the weight ${weight}`,
          `write a whole number from 1 to ${MAX_WEIGHT}, or leave the plugin out`,
        );
    }
    return accept(
      Object.fromEntries([...pairs.value].map(([name, weight]) => [name, Number(weight)])) as PluginWeights,
    );
  },
};

/** `off`: without an API server. */
const kubeconfig: ValueType<KubeConfigSource | 'off'> = {
  placeholder: `${kubeconfigSource.placeholder}|off`,
  parse: (text) => (text === 'off' ? accept('off' as const) : kubeconfigSource.parse(text)),
};

const FLAGS = {
  'policy-config-path': {
    type: filePath,
    default: '/etc/kubernetes/policy.yaml',
    description: 'the policy file, DynamicSchedulerPolicy; it is read again when it changes',
  },
  listen: {
    type: hostPort,
    description:
      'address of the server, such as 127.0.0.1:8099; other addresses than loopback need TLS with client certificates; required',
  },
  'tls-cert-file': { type: filePath, description: 'certificate of the server (PEM); it is read again when it changes' },
  'tls-private-key-file': { type: filePath, description: 'key of that certificate (PEM)' },
  'client-ca-file': {
    type: filePath,
    description:
      'authority of client certificates (PEM): only such clients are answered, except for /healthz; give it an authority of its own',
  },
  kubeconfig: {
    type: kubeconfig,
    default: 'in-cluster',
    description: 'the API server and our identity; off = loads come with each request, and only Dynamic works',
  },
  plugins: { type: plugins, default: 'Dynamic=3', description: 'plugins with their weights; one left out is off' },
  'topology-aware-resources': TOPOLOGY_AWARE_RESOURCES,
  'max-request-bytes': {
    type: wholeNumber({ min: 65_536, max: 1_024 * MIB }),
    description: 'longest request (default: 8 MiB, with --kubeconfig off 512 MiB)',
  },
  'dry-run': {
    type: goBoolean,
    default: 'false',
    alone: 'true',
    description:
      'leave no node out, score all alike, bind without a topology result; log and count what would have been',
  },
  explain: {
    type: matching(/^[^/\s]+\/[^/\s]+$/, 'namespace/pod', { problem: 'is no pod', remedy: 'write NAMESPACE/POD' }),
    description: 'ask the extender at --listen for its last decision on this pod, print it and end',
  },
  node: {
    type: matching(/^\S+$/, 'name', { problem: 'is no name', remedy: 'write the name of a node' }),
    description: 'with --explain: only this node',
  },
  'server-ca-file': {
    type: filePath,
    description: 'with --explain: authority of the server’s certificate (PEM); the server has TLS',
  },
  'server-name': {
    type: matching(/^[a-z0-9.-]{1,253}$/i, 'name', { problem: 'is no name', remedy: 'write that of the certificate' }),
    description: 'with --explain: the name in the server’s certificate, where it is reached by another one',
  },
  'client-cert-file': { type: filePath, description: 'with --explain: our certificate (PEM)' },
  'client-key-file': { type: filePath, description: 'with --explain: its key (PEM)' },
  output: { type: oneOf('table', 'json'), default: 'table', description: 'with --explain: how to print' },
  ...COMMON_FLAGS,
} as const;

/** `cpusetd extender`: filters, scores and binds for kube-scheduler, in place of crane-scheduler's plugins. */
export function addExtenderCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('extender')
    .description(
      'answer kube-scheduler as its extender: by the load of Nodes and by their NUMA zones, in place of crane-scheduler; SIGTERM ends it in order',
    );
  addTypedOptions(command, FLAGS);
  command.action(async () => exit(await extend(command, context)));
}

async function extend(command: Command, context: CliContext): Promise<ExitStatus> {
  const flags = readTypedOptions(command, FLAGS);
  const { listen, explain } = flags;
  if (!listen) throw new UsageError('--listen: is not set; write an address like 127.0.0.1:8099');
  if (explain !== undefined) {
    const { explainDecision } = await import('../extender/explain-decision');
    const [ca, certificate, key] = [flags['server-ca-file'], flags['client-cert-file'], flags['client-key-file']];
    const serverName = flags['server-name'];
    return explainDecision(
      { listen, pod: explain, node: flags.node, output: flags.output, ca, certificate, key, serverName },
      context,
    );
  }
  const tls = readTls(flags['tls-cert-file'], flags['tls-private-key-file'], flags['client-ca-file']);
  if (tls?.clientCa === undefined && !isLoopback(listen))
    throw new UsageError(
      `--listen ${formatHostPort(listen)}: is not loopback: whoever reaches it could bind pods; set --tls-cert-file, --tls-private-key-file and --client-ca-file, or listen on 127.0.0.1`,
    );
  if (flags.kubeconfig === 'off' && flags.plugins.NodeResourceTopologyMatch !== undefined)
    throw new UsageError(
      '--plugins: NodeResourceTopologyMatch needs the API server; set --kubeconfig, or leave the plugin out',
    );
  const kubeconfig = flags.kubeconfig === 'off' ? undefined : flags.kubeconfig;
  const listening = { address: `--listen ${formatHostPort(listen)}`, remedy: 'choose another address' };
  return runProgram(flags, context, listening, async ({ policy, ...parts }) => {
    const { runExtender } = await import('../../scheduling/extender/run-extender');
    await runExtender({
      ...parts,
      policy: { path: flags['policy-config-path'], first: policy },
      kubeconfig,
      listen,
      ...(tls && { tls }),
      plugins: flags.plugins,
      resources: flags['topology-aware-resources'],
      maxRequestBytes: flags['max-request-bytes'] ?? (kubeconfig ? MAX_JSON_BYTES : 512 * MIB),
      isDryRun: flags['dry-run'],
    });
    return 0;
  });
}

/** Both files, or none of them. */
function readTls(
  certificate: string | undefined,
  key: string | undefined,
  clientCa: string | undefined,
): TlsPaths | undefined {
  if (certificate !== undefined && key !== undefined)
    return { certificate, key, ...(clientCa !== undefined && { clientCa }) };
  if (certificate === undefined && key === undefined && clientCa === undefined) return undefined;
  throw new UsageError('--tls-cert-file and --tls-private-key-file: set both, also for --client-ca-file');
}
