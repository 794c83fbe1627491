/**
 * Node with the two large libraries that the daemon uses, and nothing of the daemon, for nri-start.ts: the client
 * library of Kubernetes gives the identity with which the pods of a node were listed and are watched, gRPC listens. Of
 * each pod its metadata without labels is kept. Arguments: the kubeconfig, as JSON, and the socket that gRPC listens
 * on.
 */
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import { Server, ServerCredentials } from '@grpc/grpc-js';

import { KubeConfig } from '../src/kube/client-library';

interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
}

const PATH = '/api/v1/pods';
const [kubeconfig = '', socketPath = ''] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromString(readFileSync(kubeconfig, 'utf8'));

async function open(query: string): Promise<IncomingMessage> {
  const options: RequestOptions = { headers: {} };
  await config.applyToHTTPSOptions(options);
  const url = new URL(`${config.getCurrentCluster()!.server}${PATH}${query}`);
  return new Promise((resolve, reject) => get(url, options, resolve).once('error', reject));
}

async function follow(): Promise<void> {
  const { metadata, items } = JSON.parse(await text(await open(''))) as {
    metadata: { resourceVersion: string };
    items: Pod[];
  };
  for (const { metadata } of items) {
    const { name, namespace, uid } = metadata;
    pods.set(uid, { metadata: { name, namespace, uid } });
  }
  for await (const _events of await open(`?watch=true&resourceVersion=${metadata.resourceVersion}`));
}

const pods = new Map<string, Pod>();
void follow();
new Server().bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), () => undefined);
