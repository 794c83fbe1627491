import { Reflector } from '../../../../src/kube/api/reflector';
import type { KubeClient } from '../../../../src/kube/api/kube-client';

/** The fields of API objects that these tests read. */
export interface ApiObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export interface ObjectTableParts<T extends ApiObject> {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly path: string;
  readonly fieldSelector?: string;
  /** `type`: ADDED, MODIFIED or DELETED. */
  readonly onEvent?: (type: string, object: T) => void;
}

/** The objects of a collection by name, kept up to date by a watch until the signal aborts. */
export class ObjectTable<T extends ApiObject> {
  readonly byName = new Map<string, T>();
  private readonly listeners = new Set<(type: string, object: T) => void>();

  constructor(private readonly parts: ObjectTableParts<T>) {
    const { client, signal, path, fieldSelector = '', onEvent } = parts;
    if (onEvent) this.listeners.add(onEvent);
    const reflector = new Reflector({
      client,
      signal,
      path,
      fieldSelector,
      list: () => this.list(),
      onOpen: () => undefined,
      onEvent: (type, object) => this.take(type, object as T),
      onUnread: (because) => {
        throw new Error(because);
      },
      onFailure: (_error, _during, waitMs) => waitMs,
      canResume: true,
    });
    void reflector.run();
  }

  /** Calls the listener with every change from now on. Gives the function that ends that. */
  listen(listener: (type: string, object: T) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private async list(): Promise<string> {
    const { client, path, fieldSelector } = this.parts;
    const query = fieldSelector === undefined ? {} : { fieldSelector };
    const answer = (await client.send({ method: 'GET', path, query })) as {
      metadata: { resourceVersion: string };
      items: T[];
    };
    for (const object of answer.items) this.take('ADDED', object);
    return answer.metadata.resourceVersion;
  }

  private take(type: string, object: T): void {
    const { name } = object.metadata;
    if (type === 'DELETED') this.byName.delete(name);
    else this.byName.set(name, object);
    for (const listener of this.listeners) listener(type, object);
  }
}
