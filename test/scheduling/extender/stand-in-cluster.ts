import { KubeError, type KubeClient } from '../../../src/kube';
import { mergePatch } from '../../support/kube/merge-patch';
import type { Random } from '../../support/random';

// An API server in memory whose answers and watch events come in an order that a seed decides: all interleavings of
// several replicas. Versions, conflicts and bindings are as in the real one; `test/cluster/load-aware` has the extender
// on that.

type Json = Record<string, unknown>;
type Call = Parameters<KubeClient['send']>[0];
type Watch = Parameters<KubeClient['watch']>[0];
type Client = Pick<KubeClient, 'send' | 'watch'>;

export const PODS = '/api/v1/pods';
export const TOPOLOGIES = '/apis/topology.crane.io/v1alpha1/noderesourcetopologies';

/** `lost`: the request never arrives. `unanswered`: it is carried out, and its answer does not arrive. */
export type Fate = 'done' | 'lost' | 'unanswered' | number;

interface Watcher {
  readonly path: string;
  readonly events: { readonly type: string; readonly object: Json }[];
  readonly call: Watch;
}

/** The process that sends: when it is killed, nothing of it arrives any more, and it gets no answers. */
export interface Replica {
  readonly client: Client;
  isAlive: boolean;
}

export class StandInCluster {
  private readonly objects = new Map<string, Json>();
  private readonly actions: { readonly replica: Replica; readonly act: () => void }[] = [];
  private readonly watchers: { readonly replica: Replica; readonly watcher: Watcher }[] = [];
  private version = 0;
  readonly counts = new Map<string, number>();
  /** Called for each request at the moment when it would arrive. */
  decide: (call: Call) => Fate = () => 'done';

  constructor(private readonly random: Random) {}

  createReplica(): Replica {
    const replica: Replica = {
      isAlive: true,
      client: { send: (call) => this.send(replica, call), watch: (call) => this.watch(replica, call) },
    };
    return replica;
  }

  put(collection: string, object: Json): Json {
    const stored = { ...object, metadata: { ...metaOf(object), resourceVersion: String(++this.version) } };
    const key = keyOf(collection, object);
    const before = this.objects.get(key);
    this.objects.set(key, stored);
    this.publish(collection, before, stored);
    return stored;
  }

  remove(collection: string, object: Json): void {
    const key = keyOf(collection, object);
    const before = this.objects.get(key);
    if (!before) return;
    this.objects.delete(key);
    const last = { ...before, metadata: { ...metaOf(before), resourceVersion: String(++this.version) } };
    this.publish(collection, last, undefined);
  }

  get(collection: string, name: string, namespace?: string): Json | undefined {
    return this.objects.get(keyOf(collection, { metadata: { name, namespace } }));
  }

  list(collection: string): Json[] {
    return [...this.objects].flatMap(([key, object]) => (key.startsWith(`${collection} `) ? [object] : []));
  }

  /**
   * Lets one thing happen, a random one. False when nothing is left to happen. @param isHeld watches that stand still
   */
  async step(isHeld: (replica: Replica) => boolean = () => false): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve)); // what was answered goes on to its next request
    const ready = [
      ...this.actions.map((action, i) => () => (this.actions.splice(i, 1), action.replica.isAlive && action.act())),
      ...this.watchers.flatMap(({ replica, watcher }) =>
        watcher.events.length === 0 || isHeld(replica) || !replica.isAlive
          ? []
          : [
              () => {
                const { type, object } = watcher.events.shift()!;
                watcher.call.onEvent(type, object);
              },
            ],
      ),
    ];
    if (ready.length === 0) return false;
    this.random.pick(ready)();
    return true;
  }

  async settle(isHeld?: (replica: Replica) => boolean): Promise<void> {
    while (await this.step(isHeld)) continue;
  }

  private send(replica: Replica, call: Call): Promise<unknown> {
    const key = `${call.method} ${call.path.split('/').at(-1) === 'binding' ? 'binding' : collectionOf(call.path)}`;
    return new Promise((resolve, reject) => {
      const act = (): void => {
        this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
        const fate = this.decide(call);
        const answer = fate === 'lost' || typeof fate === 'number' ? undefined : this.serve(call);
        const deliver = (): void => {
          if (fate === 'lost' || fate === 'unanswered') reject(new KubeError('it did not answer in time', 0));
          else if (typeof fate === 'number') reject(new KubeError('refused by the test', fate));
          else if (answer instanceof KubeError) reject(answer);
          else resolve(answer);
        };
        this.actions.push({ replica, act: deliver });
      };
      this.actions.push({ replica, act });
    });
  }

  private serve({ method, path, body, query, onItem }: Call): unknown {
    const target = parse(path);
    if (target.name === '') {
      const items = this.list(target.collection).filter(matcher(query?.['fieldSelector']));
      items.forEach((item) => onItem?.(item));
      return { items: [], metadata: { resourceVersion: String(this.version) } };
    }
    const found = this.get(target.collection, target.name, target.namespace);
    if (!found) return new KubeError('not found', 404);
    if (method === 'GET') return found;
    const asked = metaOf(body as Json);
    if (method === 'POST') return this.bind(found, body as Json);
    if (asked['resourceVersion'] !== undefined && asked['resourceVersion'] !== metaOf(found)['resourceVersion'])
      return new KubeError('conflict', 409);
    return this.put(target.collection, mergePatch(found, body) as Json);
  }

  /** As the registry of pods does: the node and the annotations of the Binding in one write. */
  private bind(pod: Json, { metadata, target }: Json): unknown {
    const { uid, annotations } = metadata as Json;
    const spec = pod['spec'] as Json;
    if (uid !== metaOf(pod)['uid'] || spec['nodeName'] !== undefined) return new KubeError('conflict', 409);
    const meta = metaOf(pod);
    this.put(PODS, {
      ...pod,
      metadata: { ...meta, annotations: { ...(meta['annotations'] as Json), ...(annotations as Json) } },
      spec: { ...spec, nodeName: (target as Json)['name'] },
    });
    return { kind: 'Status', status: 'Success' };
  }

  private watch(replica: Replica, call: Watch): Promise<void> {
    const watcher: Watcher = { path: call.path, events: [], call };
    const selected = matcher(call.query['fieldSelector']);
    // The list was answered before: what has changed since comes first.
    const since = Number(call.query['resourceVersion']);
    for (const object of this.list(call.path))
      if (Number(metaOf(object)['resourceVersion']) > since && selected(object))
        watcher.events.push({ type: 'ADDED', object });
    this.watchers.push({ replica, watcher });
    call.onOpen();
    return new Promise(() => undefined);
  }

  private publish(collection: string, before: Json | undefined, after: Json | undefined): void {
    for (const { watcher } of this.watchers) {
      if (watcher.path !== collection) continue;
      const selected = matcher(watcher.call.query['fieldSelector']);
      const was = before !== undefined && selected(before);
      if (after && selected(after)) watcher.events.push({ type: was ? 'MODIFIED' : 'ADDED', object: after });
      else if (was) watcher.events.push({ type: 'DELETED', object: after ?? before });
    }
  }
}

function parse(path: string): { readonly collection: string; readonly namespace?: string; readonly name: string } {
  const pod = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)(?:\/binding)?$/.exec(path);
  if (pod) return { collection: PODS, namespace: pod[1]!, name: pod[2]! };
  if (path === PODS) return { collection: PODS, name: '' };
  return { collection: TOPOLOGIES, name: path.slice(TOPOLOGIES.length + 1) };
}

const collectionOf = (path: string): string => (parse(path).collection === PODS ? 'pods' : 'topologies');

function metaOf(object: Json): Json {
  return (object['metadata'] as Json | undefined) ?? {};
}

function keyOf(collection: string, object: Json): string {
  const { namespace = '', name } = metaOf(object) as { namespace?: string; name: string };
  return `${collection} ${namespace}/${name}`;
}

/** Terms `field=value` and `field!=value`, separated by commas. */
function matcher(selector = ''): (object: Json) => boolean {
  const terms = selector.split(',').filter((term) => term !== '');
  return (object) =>
    terms.every((term) => {
      const [, field = '', operator, value = ''] = /^([^!=]+)(!?=)(.*)$/.exec(term)!;
      const found = field.split('.').reduce<unknown>((at, key) => (at as Json | undefined)?.[key], object) ?? '';
      return (found === value) === (operator === '=');
    });
}
