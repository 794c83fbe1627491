/** Longest item. The API server stores at most 1.5 MiB for an object; as JSON it is somewhat longer. */
const MAX_ITEM_BYTES = 16 * 1024 * 1024;
const MAX_REST_BYTES = 1024 * 1024;

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const ITEMS = Buffer.from('"items"');

/**
 * Splits the JSON text of a list as it arrives: each object of the `items` at the top is passed on as a text of its
 * own, and `rest` is the list without them. So a long list is never in memory, nor parsed, as a whole.
 *
 * It only finds the beginning and end of objects; the caller parses them. Throws RangeError for an object that is too
 * long.
 */
export class ListSplitter {
  private depth = 0;
  private isInText = false;
  private isEscaped = false;
  /** The last text at the top, while it can still be the name of the items. */
  private name: number[] = [];
  private isInItems = false;
  private readonly rests: Buffer[] = [];
  private restBytes = 0;
  private readonly parts: Buffer[] = [];
  private itemBytes = 0;

  constructor(private readonly onItem: (text: string) => void) {}

  get rest(): string {
    return Buffer.concat(this.rests).toString('utf8');
  }

  push(chunk: Buffer): void {
    let from = 0;
    let kind = this.isInItem ? 'item' : this.isInItems ? 'between' : 'rest';
    const end = (at: number, next: typeof kind): void => {
      if (kind === 'item') this.keepPart(chunk.subarray(from, at));
      else if (kind === 'rest') this.keepRest(chunk.subarray(from, at));
      [from, kind] = [at, next];
    };
    for (let at = 0; at < chunk.length; at++) {
      const wasItem = this.isInItem;
      const wasItems = this.isInItems;
      this.step(chunk[at]!);
      if (wasItem) {
        if (this.isInItem) continue;
        end(at + 1, 'between');
        this.emitItem();
      } else if (this.isInItem) end(at, 'item');
      else if (wasItems !== this.isInItems) end(wasItems ? at : at + 1, wasItems ? 'rest' : 'between');
    }
    end(chunk.length, kind);
  }

  private get isInItem(): boolean {
    return this.isInItems && this.depth > 2;
  }

  private step(byte: number): void {
    if (this.depth === 1) this.noteName(byte);
    if (this.isInText) {
      if (this.isEscaped) this.isEscaped = false;
      else if (byte === BACKSLASH) this.isEscaped = true;
      else if (byte === QUOTE) this.isInText = false;
    } else if (byte === QUOTE) this.isInText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (this.depth === 1 && byte === OPEN_LIST && this.isNamedItems()) this.isInItems = true;
      this.depth++;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      this.depth--;
      if (this.depth === 1) this.isInItems = false;
    }
  }

  private noteName(byte: number): void {
    const isSpace = byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
    if (byte === QUOTE && !this.isInText) this.name = [];
    if (this.isInText || !isSpace) if (this.name.length <= ITEMS.length + 1) this.name.push(byte);
  }

  /** True when the name and its colon directly precede the bracket. */
  private isNamedItems(): boolean {
    return Buffer.from(this.name).equals(Buffer.from([...ITEMS, COLON, OPEN_LIST]));
  }

  private keepRest(bytes: Buffer): void {
    this.restBytes += bytes.length;
    if (this.restBytes > MAX_REST_BYTES) throw new RangeError('what is no item of the list is too long');
    this.rests.push(bytes);
  }

  private keepPart(bytes: Buffer): void {
    this.itemBytes += bytes.length;
    if (this.itemBytes > MAX_ITEM_BYTES)
      throw new RangeError(`an item of the list is longer than ${MAX_ITEM_BYTES} bytes`);
    this.parts.push(bytes);
  }

  private emitItem(): void {
    const text = Buffer.concat(this.parts.splice(0)).toString('utf8');
    this.itemBytes = 0;
    this.onItem(text);
  }
}
