import { CpusetdError } from '../../core/errors';
import {
  asArray,
  asString,
  getByPodProxy,
  getByPortForward,
  KubeError,
  listInPages,
  readPod,
  type KubeClient,
  type PodRequest,
} from '../../kube';
import type { DaemonOptions } from '../options';
import { explainMissing, withRight, type Right } from '../rights';

const SELECTOR = 'app.kubernetes.io/name=cpusetd';
const DEFAULT_PORT = 14_710;

/** The daemon of a node, as a pod. */
export interface DaemonPod {
  readonly node: string;
  readonly name: string;
  readonly isReady: boolean;
  /** The value of `--http-address` in its arguments; undefined when it is not there, as with a config file. */
  readonly httpAddress: string | undefined;
}

/** The daemons of the cluster, and how they are asked: through the API server, read only. */
export class Daemons {
  private listed: Promise<ReadonlyMap<string, DaemonPod>> | undefined;

  constructor(
    private readonly client: KubeClient,
    private readonly options: DaemonOptions,
  ) {}

  /** By node. Listed once. */
  list(): Promise<ReadonlyMap<string, DaemonPod>> {
    return (this.listed ??= this.read());
  }

  /**
   * The answer of the daemon of a node as JSON. Throws CpusetdError that names what is missing: the pod, the option, or
   * the right.
   */
  async ask(node: string, path: string, query?: Readonly<Record<string, string>>): Promise<unknown> {
    const daemon = (await this.list()).get(node);
    const { daemonNamespace: namespace, daemonPort, via } = this.options;
    if (!daemon)
      throw new CpusetdError(
        'NOT_FOUND',
        `node ${node} has no pod of cpusetd in namespace ${namespace} (--daemon-namespace); a service of the host is asked there: cpusetd status`,
      );
    const { port } = parseAddress(daemon.httpAddress, daemonPort);
    const request: PodRequest = { namespace, pod: daemon.name, port, path, ...(query && { query }) };
    const ways = via === 'auto' ? chooseWays(daemon.httpAddress) : [via === 'proxy' ? PROXY : FORWARD];
    const refused: Right[] = [];
    for (const way of ways) {
      try {
        return await way.get(this.client, request);
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (error.status !== 403) throw explain(error, node, daemon);
        refused.push({ ...way.right, namespace });
      }
    }
    throw new CpusetdError('PERMISSION_DENIED', refused.map(explainMissing).join('; or '));
  }

  private async read(): Promise<ReadonlyMap<string, DaemonPod>> {
    const { daemonNamespace: namespace } = this.options;
    const found = new Map<string, DaemonPod>();
    await withRight({ verb: 'list', resource: 'pods', namespace }, () =>
      listInPages({
        client: this.client,
        path: `/api/v1/namespaces/${namespace}/pods`,
        query: { labelSelector: SELECTOR },
        onItem: (object) => {
          const pod = readDaemonPod(object);
          // While one replaces another, the one that runs is asked.
          if (pod && (pod.isReady || found.get(pod.node)?.isReady !== true)) found.set(pod.node, pod);
        },
        onRestart: () => found.clear(),
        pageSize: 500,
      }),
    );
    return found;
  }
}

interface Way {
  readonly right: Right;
  readonly get: (client: KubeClient, request: PodRequest) => Promise<unknown>;
}

const PROXY: Way = { right: { verb: 'get', resource: 'pods/proxy' }, get: getByPodProxy };
const FORWARD: Way = { right: { verb: 'create', resource: 'pods/portforward' }, get: getByPortForward };

/**
 * The ways to an address, the better one first. A forwarded port reaches every address, also one that a config file
 * sets.
 */
function chooseWays(httpAddress: string | undefined): readonly Way[] {
  if (httpAddress === undefined) return [FORWARD, PROXY];
  const { host } = parseAddress(httpAddress, undefined);
  return host === undefined || isLoopback(host) ? [FORWARD] : [PROXY, FORWARD];
}

function explain(
  { status, message }: KubeError,
  node: string,
  { name, isReady, httpAddress }: DaemonPod,
): CpusetdError {
  if (status === 404 && !isReady) return new CpusetdError('UNAVAILABLE', `pod ${name} of node ${node} is not ready`);
  if (status === 404) return new CpusetdError('NOT_FOUND', `the daemon of node ${node} does not know it (404)`);
  const remedy = isReady
    ? `; is it started with --http-address${httpAddress === undefined ? '' : ` (its arguments say ${httpAddress})`}?`
    : `; pod ${name} is not ready`;
  return new CpusetdError('UNAVAILABLE', `the daemon of node ${node} does not answer: ${message}${remedy}`);
}

function readDaemonPod(object: unknown): DaemonPod | undefined {
  const pod = readPod(object);
  if (!pod || pod.node === '') return undefined;
  const ready = pod.conditions.find(({ type }) => type === 'Ready');
  const args = pod.containers
    .filter(({ kind }) => kind === 'app')
    .flatMap(({ object: { command, args: rest } }) => [...asArray(command), ...asArray(rest)].map(asString));
  const { node, name } = pod;
  return { node, name, isReady: ready?.['status'] === 'True', httpAddress: findOption(args, '--http-address') };
}

function findOption(args: readonly string[], option: string): string | undefined {
  const joined = args.find((arg) => arg.startsWith(`${option}=`));
  if (joined !== undefined) return joined.slice(option.length + 1);
  const at = args.indexOf(option);
  return at < 0 ? undefined : args[at + 1];
}

/** `14710`, `192.0.2.7:14710`, `[::]:14710`; without a host it is the machine itself. */
function parseAddress(
  address: string | undefined,
  given: number | undefined,
): { readonly host: string | undefined; readonly port: number } {
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(address ?? '') ?? [];
  return { host, port: given ?? (port === undefined ? DEFAULT_PORT : Number(port)) };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.');
}

/** Most daemons that are asked at once. */
const AT_ONCE = 16;

/** Asks the daemons of several nodes, some at once. The failures are given too, in the order of the nodes. */
export async function askAll<T>(
  nodes: readonly string[],
  ask: (node: string) => Promise<T>,
): Promise<{ readonly answers: T[]; readonly failures: string[] }> {
  const results: ({ readonly answer: T } | { readonly failure: string })[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < nodes.length; i = next++) {
      try {
        results[i] = { answer: await ask(nodes[i]!) };
      } catch (error) {
        if (!(error instanceof CpusetdError)) throw error;
        results[i] = { failure: error.message };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, nodes.length) }, work));
  return {
    answers: results.flatMap((result) => ('answer' in result ? [result.answer] : [])),
    failures: results.flatMap((result) => ('failure' in result ? [result.failure] : [])),
  };
}
