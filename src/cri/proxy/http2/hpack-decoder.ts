import { ConnectionError, ErrorCode } from './frame';
import { decodeHuffman } from './hpack-huffman';
import { STATIC_TABLE, type HeaderField } from './hpack-static-table';

/** The table every encoder starts with (RFC 9113 §6.5.2). */
const DEFAULT_TABLE_BYTES = 4096;
const ENTRY_OVERHEAD_BYTES = 32;
/** Longest list of fields in a block, counted as in RFC 9113 §6.5.2: one byte may stand for 4 KiB. */
const MAX_LIST_BYTES = 2_097_152;

/**
 * Decodes the header blocks of one direction of one connection (RFC 7541). Blocks must come complete and in order,
 * since each changes the dynamic table. A broken block throws ConnectionError; the decoder can't be used after that.
 */
export class HpackDecoder {
  /** Oldest first; the newest entry has index 62. `first` counts what was evicted but not yet cut off. */
  private entries: HeaderField[] = [];
  private first = 0;
  private tableBytes = 0;
  private limitBytes: number;
  private allowedBytes: number;
  private block: Buffer = noBytes;
  private at = 0;

  /** `tableBytes`: what the receiver of these blocks lets the encoder use at the start. */
  constructor(tableBytes = DEFAULT_TABLE_BYTES) {
    this.limitBytes = tableBytes;
    this.allowedBytes = tableBytes;
  }

  /** The receiver allowed a table of `bytes`; the encoder may switch to it by a size update in a block. */
  allowTableBytes(bytes: number): void {
    this.allowedBytes = Math.max(this.allowedBytes, bytes);
  }

  /** All fields of one block, in order. */
  decode(block: Buffer): HeaderField[] {
    this.block = block;
    this.at = 0;
    const fields: HeaderField[] = [];
    let listBytes = 0;
    while (this.at < block.length) {
      const first = block[this.at]!;
      if (first >= 0x20 && first < 0x40) {
        this.resize(this.readInteger(0x1f), fields.length);
        continue;
      }
      const field =
        first >= 0x80
          ? this.entry(this.readInteger(0x7f))
          : first >= 0x40
            ? this.insert(this.readLiteral(0x3f))
            : this.readLiteral(0x0f);
      fields.push(field);
      listBytes += entryBytes(field);
      if (listBytes > MAX_LIST_BYTES) throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header list is too long');
    }
    this.block = noBytes; // it may be a small part of a large chunk
    return fields;
  }

  private entry(index: number): HeaderField {
    const entry =
      index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.dynamicEntry(index - STATIC_TABLE.length);
    return entry ?? fail('an index beyond the header tables');
  }

  private dynamicEntry(index: number): HeaderField | undefined {
    const at = this.entries.length - index;
    return at >= this.first ? this.entries[at] : undefined;
  }

  private insert(field: HeaderField): HeaderField {
    this.tableBytes += entryBytes(field);
    this.entries.push(field);
    this.evict();
    return field;
  }

  private evict(): void {
    while (this.tableBytes > this.limitBytes) this.tableBytes -= entryBytes(this.entries[this.first++]!);
    if (this.first > 64 && this.first * 2 > this.entries.length) {
      this.entries = this.entries.slice(this.first);
      this.first = 0;
    }
  }

  private resize(bytes: number, fieldsBefore: number): void {
    if (fieldsBefore > 0) fail('a table size update behind a header field');
    if (bytes > this.allowedBytes) fail(`a header table of ${bytes} bytes, ${this.allowedBytes} are allowed`);
    this.limitBytes = bytes;
    this.evict();
  }

  private readLiteral(prefixMask: number): HeaderField {
    const index = this.readInteger(prefixMask);
    const name = index === 0 ? this.readText() : this.entry(index)[0];
    return [name, this.readText()];
  }

  private readText(): string {
    const isHuffman = (this.block[this.at] ?? 0) >= 0x80;
    const length = this.readInteger(0x7f);
    const from = this.at;
    const to = from + length;
    if (to > this.block.length) fail('a text that is cut off');
    this.at = to;
    if (isHuffman) return decodeHuffman(this.block, from, to) ?? fail('a broken Huffman text');
    return this.block.toString('latin1', from, to);
  }

  /** `prefixMask`: the bits of the first byte that are the number's. */
  private readInteger(prefixMask: number): number {
    let value = this.nextByte() & prefixMask;
    if (value < prefixMask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.nextByte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail('a number of more than 28 bits');
  }

  private nextByte(): number {
    return this.block[this.at++] ?? fail('a block that is cut off');
  }
}

/** Size of a field by the rules for header lists and header tables. */
export function entryBytes([name, value]: HeaderField): number {
  return name.length + value.length + ENTRY_OVERHEAD_BYTES;
}

function fail(what: string): never {
  throw new ConnectionError(ErrorCode.compression, `a broken header block: ${what}`);
}

const noBytes = Buffer.alloc(0);
