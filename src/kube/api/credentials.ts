import { isAbsolute, join } from 'node:path';
import { asObject, asString, type JsonObject } from '../json';
import { readPlugin, runPlugin, type CredentialPlugin, type PluginCredential } from './credential-plugin';
import { readCredentialFile } from './read-credential-file';
import { untilAborted, withinTime } from './within-time';

/** Our credentials for the API server, and the authority of its certificate: contents, no paths. */
export interface Identity {
  readonly ca?: Buffer;
  readonly certificate?: Buffer;
  readonly key?: Buffer;
  readonly token?: string;
}

/**
 * Files are read again after this time, as Kubernetes' own clients do; sooner when the API server refuses the
 * credentials.
 */
const FRESH_MS = 60_000;

/**
 * Gets the identity that a kubeconfig points to: from files, or from a credential plugin. Calls that wait share one
 * attempt, which takes at most `timeoutMs` and never blocks the event loop.
 */
export class Credentials {
  private readonly plugin: CredentialPlugin | undefined;
  private readonly folder: string;
  private pending: Promise<Identity> | undefined;
  private identity: Identity | undefined;
  private untilMs = 0;
  private given: PluginCredential | undefined;
  private waitsFor = '';

  /** Throws Error with a sentence for the operator for a kind of credentials that can't be used. */
  constructor(
    private readonly parts: {
      readonly user: JsonObject;
      readonly cluster: JsonObject;
      /** The base directory of relative paths. */
      readonly folder: string;
      readonly timeoutMs: number;
      readonly signal: AbortSignal;
    },
  ) {
    this.folder = parts.folder;
    const { user, cluster } = parts;
    const provider = asObject(user['auth-provider']);
    const exec = user['exec'] ?? asObject(provider['config'])['exec'];
    this.plugin = exec === undefined || exec === null ? undefined : readPlugin(asObject(exec), cluster, this.folder);
    const name = asString(provider['name']);
    // The library would run their commands and block until they end; Kubernetes removed them in 1.26.
    if (name === 'gcp' || name === 'azure')
      throw new Error(`the auth-provider ${name} is not supported; use its credential plugin (exec), or a token`);
  }

  /** Rejects with a sentence for the operator, which names the file or the plugin. */
  get(): Promise<Identity> {
    if (this.identity && Date.now() < this.untilMs) return Promise.resolve(this.identity);
    this.pending ??= this.begin().finally(() => (this.pending = undefined));
    return this.pending;
  }

  /** The file or plugin that did not answer in time. */
  get delay(): string {
    return `${this.waitsFor} did not come in time`;
  }

  private async begin(): Promise<Identity> {
    const identity = await withinTime(this.parts, (limit) => untilAborted(this.load(limit), limit, () => this.delay));
    this.identity = identity;
    this.untilMs = Math.min(Date.now() + FRESH_MS, this.given?.expiresMs ?? Infinity);
    return identity;
  }

  private async load(signal: AbortSignal): Promise<Identity> {
    const { user, cluster } = this.parts;
    const ca = await this.read(cluster, 'certificate-authority');
    const given = this.plugin && (await this.ask(this.plugin, signal));
    const certificate = given ? toBuffer(given.certificate) : await this.read(user, 'client-certificate');
    const key = given ? toBuffer(given.key) : await this.read(user, 'client-key');
    const token = given ? given.token : await this.readToken();
    return { ...(ca && { ca }), ...(certificate && { certificate }), ...(key && { key }), ...(token && { token }) };
  }

  /** Keeps the plugin's credential until it expires. After a refusal a new object is made. */
  private async ask(plugin: CredentialPlugin, signal: AbortSignal): Promise<PluginCredential> {
    if (this.given && Date.now() < (this.given.expiresMs ?? Infinity)) return this.given;
    this.waitsFor = `the answer of the credential plugin ${plugin.command}`;
    return (this.given = await runPlugin(plugin, signal));
  }

  private async readToken(): Promise<string | undefined> {
    const { user } = this.parts;
    const path =
      asString(user['tokenFile']) || asString(asObject(asObject(user['auth-provider'])['config'])['tokenFile']);
    if (path !== '') return (await this.readFile(path)).toString('utf8').trim();
    return asString(user['token']) || undefined;
  }

  /** A file wins over data, as everywhere in Kubernetes' clients. */
  private async read(from: JsonObject, name: string): Promise<Buffer | undefined> {
    const path = asString(from[name]);
    if (path !== '') return this.readFile(path);
    const data = asString(from[`${name}-data`]);
    return data === '' ? undefined : Buffer.from(data, 'base64');
  }

  private async readFile(path: string): Promise<Buffer> {
    const whole = isAbsolute(path) ? path : join(this.folder, path);
    this.waitsFor = `the file ${whole}`;
    return readCredentialFile(whole).catch((error: unknown) => {
      throw new Error(`${whole} can't be read: ${(error as Error).message}`, { cause: error });
    });
  }
}

function toBuffer(text: string | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text);
}
