import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { poll } from '../../../support/wait-until';

/** A step of kube-scheduler-plugins, as its log tells it at `-v 4`. */
export type PluginEvent =
  | { readonly kind: 'ready' | 'resyncing' | 'resynced' }
  | { readonly kind: 'refused'; readonly pod: string; readonly because: string }
  /** `reserved`: the over-reserving cache counts the pod on every zone of the node from now on. */
  | { readonly kind: 'reserved' | 'bound'; readonly pod: string; readonly node: string }
  /** `foreign`: the node takes no pod until the fingerprints match. `withheld`: its object has no fingerprint. */
  | { readonly kind: 'flushed' | 'foreign' | 'withheld'; readonly node: string }
  /** The fingerprint of the node's object, and that of the plugin. */
  | { readonly kind: 'compared'; readonly node: string; readonly expected: string; readonly computed: string };

/** The log of kube-scheduler-plugins from a moment on, as events in their order. */
export class PluginLog {
  readonly events: PluginEvent[] = [];
  /** The position of the last event by kind and pod, and by kind and node. */
  private readonly lastPositions = new Map<string, number>();
  private offset: number;
  private rest = '';

  constructor(private readonly path: string) {
    this.offset = 0;
    this.update();
    this.events.length = 0;
    this.lastPositions.clear();
  }

  /** Reads what was written since. Gives the position of the next event. */
  update(): number {
    if (!existsSync(this.path)) return 0;
    const file = openSync(this.path, 'r');
    const buffer = Buffer.alloc(fstatSync(file).size - this.offset);
    readSync(file, buffer, 0, buffer.length, this.offset);
    closeSync(file);
    this.offset += buffer.length;
    const lines = (this.rest + buffer.toString()).split('\n');
    this.rest = lines.pop()!;
    for (const event of lines.flatMap(parseLine)) {
      const at = this.events.push(event) - 1;
      for (const key of keysOf(event)) this.lastPositions.set(key, at);
    }
    return this.events.length;
  }

  /** Waits for an event from the position on. Gives its position. */
  async waitFor(what: string, accepts: (event: PluginEvent) => boolean, from = 0): Promise<number> {
    let at = from;
    return poll(what, () => {
      this.update();
      while (at < this.events.length && !accepts(this.events[at]!)) at++;
      return at < this.events.length ? at : undefined;
    });
  }

  /** Waits for a whole resync that begins after this call. */
  async resync(): Promise<void> {
    const begin = await this.waitFor('a resync', ({ kind }) => kind === 'resyncing', this.update());
    await this.waitFor('its end', ({ kind }) => kind === 'resynced', begin + 1);
  }

  /** Position of the last event of this kind about the pod or node; -1 when there is none. */
  last(kind: PluginEvent['kind'], subject: string): number {
    return this.lastPositions.get(keyOf(kind, subject)) ?? -1;
  }

  /** The events of these kinds about the node, from the position on. */
  about(node: string, kinds: readonly PluginEvent['kind'][], from = 0): PluginEvent[] {
    this.update();
    return this.events
      .slice(from)
      .filter((event) => 'node' in event && event.node === node && kinds.includes(event.kind));
  }
}

/**
 * True when the fingerprints of the node matched between the reservation for a pod there and the position `until`, up
 * to which it had no CPUs. The plugin then counted it nowhere, unless cpusetd knew the pod already.
 */
export function wasForgotten({ events }: PluginLog, node: string, pod: string, until: number): boolean {
  const reservedAt = events.findLastIndex(
    (event, i) => i < until && event.kind === 'reserved' && event.pod === pod && event.node === node,
  );
  const isMatch = (event: PluginEvent, i: number): boolean =>
    i > reservedAt &&
    i < until &&
    event.kind === 'compared' &&
    event.node === node &&
    event.expected === event.computed;
  return reservedAt >= 0 && events.some(isMatch);
}

const keyOf = (kind: string, subject: string): string => `${kind} ${subject}`;

const keysOf = (event: PluginEvent): string[] => [
  ...('pod' in event ? [keyOf(event.kind, event.pod)] : []),
  ...('node' in event ? [keyOf(event.kind, event.node)] : []),
];

/** klog's text: a head up to `] `, the message in quotes, then keys with quoted values. */
function parseLine(line: string): PluginEvent[] {
  const message = /\] "([^"]+)"/.exec(line)?.[1];
  const valueOf = (key: string): string => new RegExp(` ${key}="([^"]*)"`).exec(line)?.[1] ?? '';
  const pod = valueOf('pod').replace(/^default\//, '');
  const node = valueOf('node');
  switch (message) {
    case 'Handlers synced':
      return [{ kind: 'ready' }];
    case 'begin':
      return valueOf('logger') === 'nrtcache.resync' ? [{ kind: 'resyncing' }] : [];
    case 'end':
      return valueOf('logger') === 'nrtcache.resync' ? [{ kind: 'resynced' }] : [];
    case 'Unable to schedule pod; no fit; waiting':
      return [{ kind: 'refused', pod, because: valueOf('err') }];
    case 'post reserve':
      return [{ kind: 'reserved', pod, node }];
    case 'Successfully bound pod to node':
      return [{ kind: 'bound', pod, node }];
    case 'flushing':
      return [{ kind: 'flushed', node }];
    case 'marked with foreign pods':
      return [{ kind: 'foreign', node }];
    case 'missing NodeTopology podset fingerprint data':
      return [{ kind: 'withheld', node }];
    case 'podset fingerprint check':
      return [{ kind: 'compared', node, expected: valueOf('expected'), computed: valueOf('computed') }];
    default:
      return [];
  }
}
