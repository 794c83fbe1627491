import { asObject, asString, resourceVersionOf } from '../json';
import { CollectionReader, type CollectionReaderParts } from './collection-reader';

export interface CollectionInformerParts<Entry> extends Omit<CollectionReaderParts, 'sink'> {
  /**
   * Maps an object to the little that is kept of it; undefined leaves the object out. Pure: no part of the object may
   * be kept, since that would keep the whole text that it was read from.
   */
  readonly reduce: (object: unknown) => Entry | undefined;
  /** The object is new or has changed. `before` is undefined for a new one. */
  readonly onChange?: (entry: Entry, key: string, before: Entry | undefined) => void;
  /** The object is gone, or (`isGone` false) is left out from now on. */
  readonly onDelete?: (entry: Entry, key: string, isGone: boolean) => void;
  /** A list is complete. */
  readonly onListed?: () => void;
  /** True = no change for the caller; by default only an object of the same version is none. */
  readonly isSame?: (a: Entry, b: Entry) => boolean;
}

interface Kept<Entry> {
  readonly entry: Entry;
  readonly version: string;
}

/**
 * Follows a collection of the whole cluster and keeps a small entry of each object, by `namespace/name` (the name alone
 * for objects without a namespace). While the API server is away the known entries stay.
 */
export class CollectionInformer<Entry> {
  private readonly reader: CollectionReader;
  private known = new Map<string, Kept<Entry>>();
  private listed = new Map<string, Kept<Entry>>();
  /** Keys of known objects that the list has, and that are left out from now on. */
  private readonly leftOut = new Set<string>();

  constructor(private readonly parts: CollectionInformerParts<Entry>) {
    this.reader = new CollectionReader({
      ...parts,
      sink: {
        onListBegin: () => {
          this.listed = new Map();
          this.leftOut.clear();
        },
        onItem: (object) => this.takeItem(object),
        onListEnd: () => this.takeList(),
        onEvent: (type, object) => this.takeEvent(type, object),
      },
    });
  }

  /** Runs until the signal aborts; never rejects. */
  run(): Promise<void> {
    return this.reader.run();
  }

  /** True after the first complete list. */
  get isSynced(): boolean {
    return this.reader.isSynced;
  }

  /** The reason for having no news now, for the operator; empty while the API server sends changes. */
  get reason(): string {
    return this.reader.reason;
  }

  /** False since the API server answered that it does not know the collection (404), until it sends news of it. */
  get isDefined(): boolean {
    return this.reader.isDefined;
  }

  /**
   * Milliseconds since the API server last sent news: 0 while it sends changes, undefined before the first complete
   * list.
   */
  get newsAgeMs(): number | undefined {
    return this.reader.newsAgeMs;
  }

  get size(): number {
    return this.known.size;
  }

  get(key: string): Entry | undefined {
    return this.known.get(key)?.entry;
  }

  keys(): IterableIterator<string> {
    return this.known.keys();
  }

  *entries(): IterableIterator<readonly [key: string, entry: Entry]> {
    for (const [key, { entry }] of this.known) yield [key, entry];
  }

  private takeItem(object: unknown): void {
    const entry = this.parts.reduce(object);
    if (entry === undefined) {
      if (this.known.has(keyOf(object))) this.leftOut.add(keyOf(object));
    } else this.listed.set(keyOf(object), { entry, version: resourceVersionOf(object) });
  }

  private takeList(): void {
    const before = this.known;
    this.known = this.listed;
    this.listed = new Map();
    for (const [key, { entry }] of before)
      if (!this.known.has(key)) this.guard(key, () => this.parts.onDelete?.(entry, key, !this.leftOut.has(key)));
    for (const [key, kept] of this.known) this.guard(key, () => this.report(key, kept, before.get(key)));
    this.parts.onListed?.();
  }

  /** A fault over one object keeps no other from being reported. */
  private guard(key: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      const { log, path } = this.parts;
      log.error({ err: error, path, key }, 'taking over an object of the API server failed');
    }
  }

  private takeEvent(type: string, object: unknown): void {
    const key = keyOf(object);
    const before = this.known.get(key);
    const entry = type === 'DELETED' ? undefined : this.parts.reduce(object);
    if (entry !== undefined) {
      const kept = { entry, version: resourceVersionOf(object) };
      this.known.set(key, kept);
      this.report(key, kept, before);
    } else if (before) {
      this.known.delete(key);
      this.parts.onDelete?.(before.entry, key, type === 'DELETED');
    }
  }

  private report(key: string, { entry, version }: Kept<Entry>, before: Kept<Entry> | undefined): void {
    const { isSame, onChange } = this.parts;
    if (before && (before.version === version || isSame?.(before.entry, entry) === true)) return;
    onChange?.(entry, key, before?.entry);
  }
}

function keyOf(object: unknown): string {
  const { namespace, name } = asObject(asObject(object)['metadata']);
  return typeof namespace === 'string' && namespace !== '' ? `${namespace}/${asString(name)}` : asString(name);
}
