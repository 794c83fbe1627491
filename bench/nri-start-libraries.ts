/**
 * Node with the two large libraries that the daemon uses, and nothing of the daemon, for nri-start.ts: the client library of
 * Kubernetes has listed the pods of a node and watches them, gRPC listens. Of each pod its metadata without labels is kept.
 * Arguments: the kubeconfig, as JSON, and the socket that gRPC listens on.
 */
import { readFileSync } from 'node:fs';
import { get, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import { Server, ServerCredentials } from '@grpc/grpc-js';

import { KubeConfig, ListWatch, Watch } from '../src/kube/client-library';

interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
}

const PATH = '/api/v1/pods';
const [kubeconfig = '', socketPath = ''] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromString(readFileSync(kubeconfig, 'utf8'));

async function list() {
  const options: RequestOptions = { headers: {} };
  await config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
  const url = new URL(`${config.getCurrentCluster()!.server}${PATH}`);
  const answer = await new Promise<string>((resolve, reject) => {
    get(url, options, (response) => void text(response).then(resolve, reject)).once('error', reject);
  });
  const { metadata, items } = JSON.parse(answer) as { metadata: { resourceVersion: string }; items: Pod[] };
  return {
    metadata,
    items: items.map(({ metadata: { name, namespace, uid } }) => ({ metadata: { name, namespace, uid } })),
  };
}

void new ListWatch<Pod>(PATH, new Watch(config), list, false).start();
new Server().bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), () => undefined);
