import type { Command } from 'commander';

import { kubeconfigSource } from '../../option-types/kube-types';
import { filePath, goBoolean, httpUrl } from '../../option-types/net-types';
import { durationMs } from '../../option-types/system-types';
import { matching, oneOf, wholeNumber, type ValueType } from '../../option-types/value-type';
import { showText } from '../../core/show-text';
import type { KubeConfigSource } from '../../kube';
import { BINDING_SOURCES } from '../../scheduling/annotator/binding-source';
import { UsageError, type CliContext, type ExitStatus } from '../context';
import { COMMON_FLAGS, runProgram } from '../options/scheduling-options';
import { addTypedOptions, readTypedOptions } from '../options/typed-options';

const leaseTime = durationMs({ minMs: 100, maxMs: 3_600_000 });
const name = matching(/^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/, 'name', {
  problem: 'is not a name of Kubernetes',
  remedy: 'write lower-case letters, digits, - and .',
});
/** Matchers of PromQL, without braces. The metric's name is the annotator's. */
const matcher = String.raw`(?!__name__)[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\.)*"`;
const metricSelector = matching(new RegExp(`^(?=.{1,1024}$)${matcher}(?:\\s*,\\s*${matcher})*$`), 'matchers', {
  problem: 'is no list of matchers of labels',
  remedy: 'write it like cluster="a",env=~"prod|test", without braces and without __name__',
});
/** Empty as in crane-scheduler-controller: the identity of the pod. */
const kubeconfig: ValueType<KubeConfigSource> = {
  placeholder: kubeconfigSource.placeholder,
  parse: (text) => kubeconfigSource.parse(text === '' ? 'in-cluster' : text),
};

/** The flags of crane-scheduler-controller by their names, and after them our own. */
const FLAGS = {
  'policy-config-path': {
    type: filePath,
    default: '/etc/kubernetes/policy.yaml',
    description: 'the policy file, DynamicSchedulerPolicy',
  },
  'prometheus-address': { type: httpUrl, description: 'base address of Prometheus; required' },
  'binding-heap-size': {
    type: wholeNumber({ min: 1, max: 1_000_000 }),
    default: '1024',
    description: 'most bindings of pods that are remembered for hot values',
  },
  'bindings-from': {
    type: oneOf(...BINDING_SOURCES),
    default: 'pods',
    description:
      'what hot values count: bound pods, or as Crane the Events of schedulers, which everybody can write who may create Events',
  },
  'concurrent-syncs': {
    type: wholeNumber({ min: 1, max: 32 }),
    default: '8',
    description: 'most patches of Nodes at once',
  },
  kubeconfig: { type: kubeconfig, default: 'in-cluster', description: 'the API server and our identity' },
  master: { type: httpUrl, description: 'address of the API server instead of that in the kubeconfig' },
  'health-port': {
    type: wholeNumber({ min: 0, max: 65_535 }),
    default: '8090',
    description: '/healthz and /metrics over HTTP, on all addresses; 0 = off',
  },
  'leader-elect': {
    type: goBoolean,
    default: 'true',
    alone: 'true',
    description: 'only the process that holds the lease writes',
  },
  'leader-elect-lease-duration': {
    type: leaseTime,
    default: '15s',
    description: 'time without a renewal after which others take the lease',
  },
  'leader-elect-renew-deadline': {
    type: leaseTime,
    default: '10s',
    description: 'time without a renewal after which the leader ends',
  },
  'leader-elect-retry-period': { type: leaseTime, default: '2s', description: 'time between tries of the lease' },
  'leader-elect-resource-lock': {
    type: oneOf('leases'),
    default: 'leases',
    description: 'kind of the object; Kubernetes has no other any more',
  },
  'leader-elect-resource-name': { type: name, default: 'crane-scheduler-controller', description: 'name of the Lease' },
  'leader-elect-resource-namespace': {
    type: name,
    description: 'namespace of the Lease (default: CRANE_SYSTEM_NAMESPACE, else crane-system)',
  },
  'prometheus-bearer-token-file': { type: filePath, description: 'token for Prometheus; read for each query' },
  'prometheus-ca-file': { type: filePath, description: "authority of Prometheus' certificate (PEM)" },
  'metric-selector': {
    type: metricSelector,
    description: 'labels that series have to have, as in cluster="a", where Prometheus has several clusters',
  },
  'dry-run': {
    type: goBoolean,
    default: 'false',
    alone: 'true',
    description: 'write nothing and take no lease; log and count what would be written',
  },
  ...COMMON_FLAGS,
} as const;

/**
 * `cpusetd annotator`: writes load figures and hot values of Nodes, in place of crane-scheduler-controller. Exit 1 when
 * the lease is lost.
 */
export function addAnnotatorCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('annotator')
    .description(
      'write the load of all Nodes from Prometheus, and their hot values, into annotations, in place of crane-scheduler-controller; SIGTERM ends it in order',
    );
  addTypedOptions(command, FLAGS);
  command.action(async () => exit(await annotate(command, context)));
}

async function annotate(command: Command, context: CliContext): Promise<ExitStatus> {
  const flags = readTypedOptions(command, FLAGS);
  const address = flags['prometheus-address'];
  if (address === undefined)
    throw new UsageError(
      '--prometheus-address: is not set; write the address of Prometheus, like http://prometheus:9090',
    );
  const namespace = flags['leader-elect-resource-namespace'] ?? readNamespace(context.env['CRANE_SYSTEM_NAMESPACE']);
  const times = {
    leaseDurationMs: flags['leader-elect-lease-duration'],
    renewDeadlineMs: flags['leader-elect-renew-deadline'],
    retryPeriodMs: flags['leader-elect-retry-period'],
  };
  const { checkLeaseTimes } = await import('../../kube');
  if (flags['leader-elect']) {
    const broken = checkLeaseTimes(times).map((rule) => `--leader-elect-*: ${rule}; change one of them`);
    if (broken.length > 0) throw new UsageError(...broken);
  }
  const { kubeconfig: source, master, 'health-port': healthPort } = flags;
  const token = flags['prometheus-bearer-token-file'];
  const ca = flags['prometheus-ca-file'];
  const listening = { address: `--health-port ${healthPort}`, remedy: 'choose another, or 0 for none' };
  return runProgram(flags, context, listening, async (parts) => {
    if (master !== undefined && source.kind === 'in-cluster')
      parts.log.warn({ master }, '--master counts only with --kubeconfig, and is ignored');
    const { runAnnotator } = await import('../../scheduling/annotator/run-annotator');
    const outcome = await runAnnotator({
      ...parts,
      kubeconfig: source.kind === 'file' && master !== undefined ? { ...source, server: master } : source,
      prometheus: {
        address,
        ...(token !== undefined && { bearerTokenFile: token }),
        ...(ca !== undefined && { caFile: ca }),
      },
      metricSelector: flags['metric-selector'],
      bindingHeapSize: flags['binding-heap-size'],
      bindingSource: flags['bindings-from'],
      concurrentSyncs: flags['concurrent-syncs'],
      healthPort,
      ...(flags['leader-elect'] && { lease: { ...times, namespace, name: flags['leader-elect-resource-name'] } }),
      isDryRun: flags['dry-run'],
    });
    return outcome === 'ended' ? 0 : 1;
  });
}

function readNamespace(text: string | undefined): string {
  if (text === undefined || text === '') return 'crane-system';
  const parsed = name.parse(text);
  if (parsed.ok) return parsed.value;
  throw new UsageError(`CRANE_SYSTEM_NAMESPACE: ${showText(text)} ${parsed.problem}; ${parsed.remedy}`);
}
