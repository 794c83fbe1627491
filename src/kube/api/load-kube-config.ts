import { isIPv6 } from 'node:net';
import { dirname, resolve } from 'node:path';
import { systemCodeOf } from '../../core/system-errors';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { KubeConfig } from '../client-library';
import { Credentials, type Identity } from './credentials';
import { KubeError } from './kube-error';
import { readCredentialFile } from './read-credential-file';
import { untilAborted, withinTime, type Limits } from './within-time';

/** Source of the API server's address and of our identity. */
export type KubeConfigSource =
  | {
      readonly kind: 'file';
      readonly path: string;
      /** The API server's address instead of the file's. */
      readonly server?: string;
    }
  | {
      /** Several files as one, as KUBECONFIG names them; those that do not exist are left out. */
      readonly kind: 'files';
      readonly paths: readonly string[];
      /** Instead of the current context. */
      readonly context?: string;
    }
  | { readonly kind: 'in-cluster' };

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const CREDENTIALS_TIMEOUT_MS = 15_000;

export interface LoadOptions {
  /** Ends calls in flight when the daemon ends. */
  readonly signal: AbortSignal;
  /** Maximum time for files, a credential plugin or an identity provider. */
  readonly timeoutMs?: number;
}

/**
 * The library's configuration, without files and programs: the library would read and run those on the event loop, or
 * without a time limit. `Credentials` gets them, and this class hands their content to the library.
 */
export class GuardedKubeConfig extends KubeConfig {
  private given: Identity | undefined;

  constructor(
    private readonly credentials: Credentials,
    private readonly limits: Limits,
  ) {
    super();
  }

  /** Rejects with KubeError that names the missing credentials. */
  override async applyToHTTPSOptions(...[options]: Parameters<KubeConfig['applyToHTTPSOptions']>): Promise<void> {
    try {
      const identity = await this.credentials.get();
      if (identity !== this.given) this.give(identity);
      this.given = identity;
      // An identity provider (OIDC) is called over the network.
      await withinTime(this.limits, (limit) =>
        untilAborted(super.applyToHTTPSOptions(options), limit, () => 'the identity provider did not answer in time'),
      );
    } catch (error) {
      throw new KubeError(`the credentials for the API server can't be had: ${(error as Error).message}`, 0, {
        cause: error,
      });
    }
  }

  private give({ ca, certificate, key, token }: Identity): void {
    const user: Writable<NonNullable<ReturnType<KubeConfig['getCurrentUser']>>> | null = this.getCurrentUser();
    const cluster = this.getCurrentCluster() as Writable<NonNullable<ReturnType<KubeConfig['getCurrentCluster']>>>;
    if (ca) cluster.caData = ca.toString('base64');
    if (user && certificate) user.certData = certificate.toString('base64');
    if (user && key) user.keyData = key.toString('base64');
    if (user && token !== undefined) user.token = token;
  }

  /** The source of credentials that did not answer in time. */
  get delay(): string {
    return `the credentials for the API server can't be had: ${this.credentials.delay}`;
  }
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Reads the configuration. Rejects with KubeError that names the missing part, which may appear later, as on a node
 * that joins.
 */
export async function loadKubeConfig(source: KubeConfigSource, options: LoadOptions): Promise<GuardedKubeConfig> {
  const limits = { timeoutMs: CREDENTIALS_TIMEOUT_MS, ...options };
  const place = describeSource(source);
  const document = await readSource(source, limits);
  try {
    const context = asObject(find(document, 'contexts', 'context', asString(document['current-context'])));
    const credentials = new Credentials({
      user: asObject(find(document, 'users', 'user', asString(context['user']))),
      cluster: asObject(find(document, 'clusters', 'cluster', asString(context['cluster']))),
      folder: source.kind === 'file' ? dirname(source.path) : '/',
      ...limits,
    });
    const config = new GuardedKubeConfig(credentials, limits);
    config.loadFromString(JSON.stringify(withoutPaths(document)));
    const cluster: Writable<NonNullable<ReturnType<KubeConfig['getCurrentCluster']>>> | null =
      config.getCurrentCluster();
    if (cluster && source.kind === 'file' && source.server !== undefined) cluster.server = source.server;
    if (cluster && URL.canParse(cluster.server)) return config;
  } catch (cause) {
    throw new KubeError(`${place} is not a kubeconfig that can be used: ${(cause as Error).message}`, 0, { cause });
  }
  throw new KubeError(`${place} names no API server for its current context`, 0);
}

async function readSource(source: KubeConfigSource, limits: Limits): Promise<JsonObject> {
  switch (source.kind) {
    case 'in-cluster':
      return describeServiceAccount();
    case 'file':
      return readDocument(source.path, limits);
    case 'files': {
      const document = mergeDocuments(await readDocuments(source.paths, limits));
      return source.context === undefined ? document : { ...document, 'current-context': source.context };
    }
  }
}

/** True for the failure to read a file that does not exist. */
function isAbsent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  return systemCodeOf(error) === 'ENOENT' || isAbsent((error as { readonly cause?: unknown }).cause);
}

/** The files that exist. Rejects when none does. */
async function readDocuments(
  paths: readonly string[],
  limits: Limits,
): Promise<readonly { readonly folder: string; readonly document: JsonObject }[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      try {
        return { folder: dirname(resolve(path)), document: await readDocument(path, limits) };
      } catch (error) {
        if (isAbsent(error)) return undefined;
        throw error;
      }
    }),
  );
  const documents = found.filter((each) => each !== undefined);
  if (documents.length > 0) return documents;
  throw new KubeError(`there is no kubeconfig: ${paths.join(', ')}; name one with --kubeconfig or KUBECONFIG`, 0);
}

/**
 * Of two entries with the same name the first counts, as for kubectl. Relative paths are those of the file that has
 * them.
 */
function mergeDocuments(documents: readonly { readonly folder: string; readonly document: JsonObject }[]): JsonObject {
  const current = documents.map(({ document }) => asString(document['current-context'])).find((name) => name !== '');
  const merge = (list: string, kind: string): readonly unknown[] =>
    documents.flatMap(({ folder, document }) =>
      asArray(document[list]).map((entry) => ({
        ...asObject(entry),
        [kind]: withWholePaths(asObject(asObject(entry)[kind]), folder),
      })),
    );
  return {
    clusters: merge('clusters', 'cluster'),
    users: merge('users', 'user'),
    contexts: merge('contexts', 'context'),
    'current-context': current ?? '',
  };
}

function withWholePaths(fields: JsonObject, folder: string): JsonObject {
  const whole = (path: unknown): unknown => (typeof path === 'string' && path !== '' ? resolve(folder, path) : path);
  const exec = asObject(fields['exec']);
  const command = asString(exec['command']);
  return {
    ...Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        PATHS.includes(name) && name !== 'exec' ? whole(value) : value,
      ]),
    ),
    ...(command.includes('/') && { exec: { ...exec, command: whole(command) } }),
  };
}

async function readDocument(path: string, limits: Limits): Promise<JsonObject> {
  let text: string;
  try {
    const bytes = await withinTime(limits, (limit) =>
      untilAborted(readCredentialFile(path), limit, () => 'it did not come in time'),
    );
    text = bytes.toString('utf8');
  } catch (cause) {
    throw new KubeError(
      `the kubeconfig can’t be read: ${path}: ${(cause as Error).message}; check the path of --kubeconfig`,
      0,
      { cause },
    );
  }
  try {
    const { parse } = await import('yaml');
    return asObject(parse(text));
  } catch (cause) {
    throw new KubeError(`${path} is not a kubeconfig: ${(cause as Error).message.slice(0, 300)}`, 0, { cause });
  }
}

/** The service account in the form of a kubeconfig. Throws KubeError outside of a pod. */
function describeServiceAccount(): JsonObject {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (host === undefined)
    throw new KubeError('KUBERNETES_SERVICE_HOST is not set: not in a pod; name a file with --kubeconfig', 0);
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return {
    clusters: [{ name: 'pod', cluster: { server, 'certificate-authority': `${SERVICE_ACCOUNT}/ca.crt` } }],
    users: [{ name: 'pod', user: { tokenFile: `${SERVICE_ACCOUNT}/token` } }],
    contexts: [{ name: 'pod', context: { cluster: 'pod', user: 'pod' } }],
    'current-context': 'pod',
  };
}

function find(document: JsonObject, list: string, kind: string, name: string): unknown {
  return asObject(asArray(document[list]).find((entry) => asObject(entry)['name'] === name))[kind];
}

const PATHS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile', 'token-file', 'exec'];

/**
 * Removes everything that the library would read or run. Of the auth providers only OIDC remains, which uses the
 * network.
 */
function withoutPaths(document: JsonObject): JsonObject {
  const strip = (kind: string) => (entry: unknown) => {
    const inner = Object.entries(asObject(asObject(entry)[kind])).filter(
      ([name, value]) => !PATHS.includes(name) && (name !== 'auth-provider' || asObject(value)['name'] === 'oidc'),
    );
    return { ...asObject(entry), [kind]: Object.fromEntries(inner) };
  };
  return {
    ...document,
    clusters: asArray(document['clusters']).map(strip('cluster')),
    users: asArray(document['users']).map(strip('user')),
  };
}

function describeSource(source: KubeConfigSource): string {
  switch (source.kind) {
    case 'file':
      return source.path;
    case 'files':
      return source.paths.join(', ');
    case 'in-cluster':
      return "the pod's service account";
  }
}
