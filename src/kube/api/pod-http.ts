import { request as requestHttp, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { KubeError } from './kube-error';
import type { KubeClient } from './kube-client';
import { readBody, readFailure } from './read-response';
import { CHANNEL_PROTOCOL, ChannelSocket } from './channel-socket';

/** A GET request for an HTTP server in a pod. */
export interface PodRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  /** Begins with a slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;
/** The name by which each server on a machine knows itself. */
const HOST = 'localhost';

/**
 * Asks through the pod proxy of the API server, which connects to the address of the pod: the right `get` on
 * `pods/proxy`. The server in the pod is addressed as `localhost`, since it does not know the name of the API server.
 */
export async function getByPodProxy(
  client: Pick<KubeClient, 'send'>,
  { namespace, pod, port, path, query, timeoutMs = TIMEOUT_MS }: PodRequest,
): Promise<unknown> {
  return client.send({
    method: 'GET',
    path: `${pathOf(namespace, pod)}:${port}/proxy${path}`,
    ...(query && { query }),
    host: HOST,
    timeoutMs,
  });
}

/**
 * Asks through a port that the API server forwards, which reaches servers on the loopback address of the pod too: the
 * right `get` and `create` on `pods/portforward` (which of both depends on the version of the API server).
 */
export async function getByPortForward(
  client: Pick<KubeClient, 'upgrade'>,
  { namespace, pod, port, path, query, timeoutMs = TIMEOUT_MS }: PodRequest,
): Promise<unknown> {
  return client.upgrade(
    {
      path: `${pathOf(namespace, pod)}/portforward`,
      query: { ports: String(port) },
      protocol: CHANNEL_PROTOCOL,
      timeoutMs,
    },
    async (socket, signal) => {
      const tunnel = new ChannelSocket(socket);
      // The tunnel's own error says more than that of the request over it, and comes also before there is a request.
      const broken = new Promise<never>((_resolve, reject) => tunnel.once('error', reject));
      broken.catch(() => undefined);
      const abort = (): void => void tunnel.destroy(new Error('it did not answer in time'));
      signal.addEventListener('abort', abort, { once: true });
      try {
        const whole = `${path}${query ? `?${new URLSearchParams(query).toString()}` : ''}`;
        return await Promise.race([broken, askOver(tunnel, whole)]);
      } catch (error) {
        if (error instanceof KubeError) throw error;
        const because = (error as Error).message;
        throw new KubeError(`port ${port} of pod ${namespace}/${pod} can't be reached: ${because}`, 0, {
          cause: error,
        });
      } finally {
        signal.removeEventListener('abort', abort);
        tunnel.destroy();
      }
    },
  );
}

const pathOf = (namespace: string, pod: string): string => `/api/v1/namespaces/${namespace}/pods/${pod}`;

async function askOver(tunnel: Duplex, path: string): Promise<unknown> {
  const headers = { host: HOST, accept: 'application/json', connection: 'close' };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    requestHttp({ createConnection: () => tunnel, method: 'GET', path, headers }, resolve)
      .once('error', reject)
      .end();
  });
  const { statusCode: status = 0 } = response;
  if (status < 200 || status > 299) throw await readFailure(response);
  return readBody(response);
}
